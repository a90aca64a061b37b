package store

import (
	"time"

	"github.com/jackc/pgx/v5"
)

// HeldBy says which of an operator's settings kept a claim from taking more.
type HeldBy string

// What holds claims back.
const (
	HeldByDrain       HeldBy = "drained"     // this worker is to claim no more
	HeldByPause       HeldBy = "paused"      // the queue, some of the kinds, or everything is paused
	HeldByConcurrency HeldBy = "concurrency" // a limit of running jobs
	HeldByRate        HeldBy = "rate"        // a limit of claims in a time
)

// Held is what a claim was allowed by the controls that operators have set.
// The zero value says that none concerned it.
type Held struct {
	By      HeldBy        // empty: nothing held it back
	Wanted  int           // how many jobs it asked for
	Allowed int           // how many jobs it could have taken
	Full    bool          // a limit leaves no place at all, for the queue or for one of the kinds
	Again   time.Duration // until a spent rate allows the next claim; 0 when none is spent
}

// Tight reports whether the claim, which took n jobs, could take more as soon as
// a limit leaves room: it is worth asking again soon, without an announcement.
func (h Held) Tight(n int) bool {
	return h.Full || 0 < h.Allowed && h.Allowed < h.Wanted && n >= h.Allowed
}

// collectClaimed reads the answer of a claim: what held it back stands before
// each job, and alone where no job was claimed.
func collectClaimed(rows pgx.Rows) (claimed []Claimed, held Held, err error) {
	defer rows.Close()
	var again float64
	ahead := []any{&held.Allowed, &held.By, &held.Full, &again, nil}
	for rows.Next() {
		if rows.RawValues()[len(ahead)] == nil {
			err = rows.Scan(append(ahead, make([]any, len(rows.RawValues())-len(ahead))...)...)
		} else {
			var c Claimed
			c, err = scanClaimed(behind{rows, ahead})
			claimed = append(claimed, c)
		}
		if err != nil {
			return nil, Held{}, err
		}
		clear(ahead) // the same in every row
	}
	held.Again = time.Duration(again * float64(time.Second))
	return claimed, held, rows.Err()
}

// behind is a row whose first columns somebody else reads.
type behind struct {
	pgx.Rows
	ahead []any
}

func (b behind) Scan(dest ...any) error {
	return b.Rows.Scan(append(b.ahead[:len(b.ahead):len(b.ahead)], dest...)...)
}

// before is a row whose last columns somebody else reads.
type before struct {
	pgx.CollectableRow
	behind []any
}

func (b before) Scan(dest ...any) error {
	return b.CollectableRow.Scan(append(dest[:len(dest):len(dest)], b.behind...)...)
}
