package boundary

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store/storetest"
)

// reports is a database with the document's tables.
type reports struct {
	*pgx.Conn
	t   *testing.T
	url string
}

func newReports(t *testing.T) *reports {
	t.Helper()
	r := &reports{t: t, url: storetest.URL(t)}
	r.Conn = r.connect()
	for _, table := range []string{"create table plain_reports", "create table reports", "create table received"} {
		if _, err := r.Exec(t.Context(), passage(t, "sql", table)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *reports) connect() *pgx.Conn {
	r.t.Helper()
	conn, err := pgx.Connect(r.t.Context(), r.url)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// body is what a table holds in the end.
func (r *reports) body(table string) string {
	r.t.Helper()
	var body string
	if err := r.QueryRow(r.t.Context(), `select coalesce(body, '') from `+table+` where report = 'acme'`).Scan(&body); err != nil {
		r.t.Fatal(err)
	}
	return body
}

// unguarded is the document's write that compares nothing.
func (r *reports) unguarded(body string) {
	r.t.Helper()
	if _, err := r.Exec(r.t.Context(), passage(r.t, "sql", "-- without a guard"), "acme", body); err != nil {
		r.t.Fatal(err)
	}
}

// guarded is the document's guarded write, on a connection; it reports whether
// a row was written.
func (r *reports) guarded(ctx context.Context, conn interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}, body string, generation int64, attempt uuid.UUID) (bool, error) {
	var report string
	err := conn.QueryRow(ctx, passage(r.t, "sql", "-- guarded:"), "acme", body, int64(7), generation, attempt).Scan(&report)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (r *reports) write(body string, generation int64, attempt uuid.UUID) bool {
	r.t.Helper()
	ok, err := r.guarded(r.t.Context(), r.Conn, body, generation, attempt)
	if err != nil {
		r.t.Fatal(err)
	}
	return ok
}

// A checks its claim, is paused past its end, and writes all the same: it has
// asked and was told yes. Nothing on the way notices.
func TestAClaimCheckedFirstLosesTheRace(t *testing.T) {
	t.Parallel()
	c, r := newClaims(t), newReports(t)
	a, _ := c.taken()
	if !c.holds(a) {
		t.Fatal("a does not hold what it has just claimed")
	}
	c.lapse() // a is paused here
	b, _ := c.taken()
	if !c.holds(b) {
		t.Fatal("b does not hold what it has just claimed")
	}
	r.unguarded("by b, the newer attempt")
	r.unguarded("by a, which was paused")
	if got := r.body("plain_reports"); got != "by a, which was paused" {
		t.Errorf("the table holds %q: the unguarded write did not lose the newer report, and the warning is out of date", got)
	}
}

func TestTheSameRaceWithAGuardedWriteIsWon(t *testing.T) {
	t.Parallel()
	c, r := newClaims(t), newReports(t)
	a, first := c.taken()
	if !c.holds(a) {
		t.Fatal("a does not hold what it has just claimed")
	}
	c.lapse() // a is paused here
	b, second := c.taken()
	if !r.write("by b, the newer attempt", second, b) {
		t.Error("the newer attempt was refused")
	}
	if r.write("by a, which was paused", first, a) {
		t.Error("the paused attempt was accepted")
	}
	if got := r.body("reports"); got != "by b, the newer attempt" {
		t.Errorf("the table holds %q", got)
	}
}

// A counter that a failover has set back hands out what the table has seen.
func TestACounterThatWasSetBackRefusesNewcomersRatherThanLoseAReport(t *testing.T) {
	t.Parallel()
	c, r := newClaims(t), newReports(t)
	c.taken()
	c.lapse()
	b, second := c.taken()
	if !r.write("by b", second, b) {
		t.Fatal("b was refused")
	}
	c.server.FlushAll()
	for range 2 { // the second of them is given b's generation once more
		newcomer, generation := c.taken()
		if generation > second {
			t.Fatalf("generation %d", generation)
		}
		if r.write("by a newcomer", generation, newcomer) {
			t.Errorf("generation %d was accepted twice", generation)
		}
		c.lapse()
	}
	if !r.write("by b, again", second, b) {
		t.Error("b could not repeat its own write")
	}
	newcomer, third := c.taken()
	if third != second+1 || !r.write("by the third", third, newcomer) {
		t.Errorf("generation %d was refused", third)
	}
}

// What is printed as Go is the statement that these tests run.
func TestTheGoOfTheDocumentHoldsTheSameStatement(t *testing.T) {
	t.Parallel()
	_, statement, _ := strings.Cut(passage(t, "sql", "-- guarded:"), "\n")
	if !strings.Contains(passage(t, "go", "const writeReport"), strings.TrimSuffix(strings.TrimSpace(statement), ";")) {
		t.Errorf("the Go block holds another statement than\n%s", statement)
	}
}
