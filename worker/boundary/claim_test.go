package boundary

import (
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// lease is how long a claim in Redis lasts; the tests move its clock.
const lease = 30 * time.Second

// claims is a claim in Redis, by the document's scripts.
type claims struct {
	t                      *testing.T
	server                 *miniredis.Miniredis
	client                 *redis.Client
	acquire, release, held *redis.Script
}

func newClaims(t *testing.T) *claims {
	t.Helper()
	server := miniredis.RunT(t)
	c := &claims{t: t, server: server, client: redis.NewClient(&redis.Options{Addr: server.Addr()})}
	t.Cleanup(func() { c.client.Close() })
	c.acquire = redis.NewScript(passage(t, "lua", "-- acquire:"))
	c.release = redis.NewScript(passage(t, "lua", "-- release:"))
	c.held = redis.NewScript(passage(t, "lua", "-- held:"))
	return c
}

// claim takes the claim and returns the attempt's token and generation; a
// generation of 0 means that somebody else has it.
func (c *claims) claim() (token uuid.UUID, generation int64) {
	c.t.Helper()
	token = uuid.New()
	generation, err := c.acquire.Run(c.t.Context(), c.client, []string{"claim", "generations"}, token.String(), lease.Milliseconds()).Int64()
	if err != nil {
		c.t.Fatal(err)
	}
	return token, generation
}

func (c *claims) taken() (token uuid.UUID, generation int64) {
	c.t.Helper()
	if token, generation = c.claim(); generation == 0 {
		c.t.Fatal("the claim is somebody else's")
	}
	return token, generation
}

func (c *claims) holds(token uuid.UUID) bool {
	c.t.Helper()
	return c.yes(c.held, token)
}

func (c *claims) giveBack(token uuid.UUID) bool {
	c.t.Helper()
	return c.yes(c.release, token)
}

func (c *claims) yes(script *redis.Script, token uuid.UUID) bool {
	c.t.Helper()
	n, err := script.Run(c.t.Context(), c.client, []string{"claim"}, token.String()).Int64()
	if err != nil {
		c.t.Fatal(err)
	}
	return n == 1
}

// lapse lets the claim end: the server's clock moves, nobody sleeps.
func (c *claims) lapse() { c.server.FastForward(lease + time.Millisecond) }

func TestOneOfManyTakesTheClaim(t *testing.T) {
	t.Parallel()
	c := newClaims(t)
	var mu sync.Mutex
	var winners []int64
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			n, err := c.acquire.Run(t.Context(), c.client, []string{"claim", "generations"}, uuid.NewString(), lease.Milliseconds()).Int64()
			if err != nil {
				t.Error(err)
			} else if n != 0 {
				mu.Lock()
				defer mu.Unlock()
				winners = append(winners, n)
			}
		})
	}
	all.Wait()
	if len(winners) != 1 || winners[0] != 1 {
		t.Errorf("generations %v were handed out, want 1 alone", winners)
	}
}

func TestTheNextClaimHasTheNextGenerationAndOnlyItsOwnerGivesItBack(t *testing.T) {
	t.Parallel()
	c := newClaims(t)
	a, first := c.taken()
	if _, n := c.claim(); n != 0 {
		t.Errorf("a claim that is held was given away as generation %d", n)
	}
	c.lapse()
	b, second := c.taken()
	if second != first+1 {
		t.Errorf("generation %d follows %d", second, first)
	}
	if c.holds(a) || !c.holds(b) {
		t.Errorf("held by the first: %v, by the second: %v", c.holds(a), c.holds(b))
	}
	if c.giveBack(a) || !c.holds(b) {
		t.Error("the first one gave the second one's claim back")
	}
	if !c.giveBack(b) || c.holds(b) {
		t.Error("the owner could not give the claim back")
	}
}
