package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Brake slows whoever tries again and again. After Free tries the next one has
// to wait, twice as long each time, up to Most.
type Brake struct {
	Key  string // what is counted, as "account:ada"
	Free int
	Most time.Duration
}

// brakeMemory is how long after the last try they are forgotten.
const brakeMemory = 15 * time.Minute

// The row of a key that must wait is left as it is, so that who goes on trying
// does not wait for ever. Keys are taken in order, so that two never wait for
// each other.
const tryNowSQL = `
with gone as (
  delete from fenceline.brakes b where b.key in (
    select o.key from fenceline.brakes o where o.at < now() - $4::interval and o.held_to < now() and o.key <> all ($1) limit 20 for update skip locked)
)
insert into fenceline.brakes as b (key, tries, at, held_to)
select t.key, 1, now(), now()
from unnest($1::text[], $2::bigint[], $3::float8[]) as t (key, free, most)
order by t.key
on conflict (key) do update
set tries = case when b.at < now() - $4::interval then 1 else b.tries + 1 end, at = now(),
    held_to = case
      when b.at < now() - $4::interval or b.tries < (select f.free from unnest($1::text[], $2::bigint[]) f (key, free) where f.key = b.key) then now()
      else now() + make_interval(secs => least(
        (select m.most from unnest($1::text[], $3::float8[]) m (key, most) where m.key = b.key),
        power(2, least(20, b.tries - (select f.free from unnest($1::text[], $2::bigint[]) f (key, free) where f.key = b.key)))))
    end
where b.held_to <= now()
returning b.key`

var errHeld = errors.New("held by a brake")

// TryNow counts a try against every brake before it is made. wait is not 0 when
// it must not be made yet, and says for how long; so many at once get no further
// than one after the other. A try that one brake holds counts for none of the
// others: who is held as an address holds no account up.
func (s *Store) TryNow(ctx context.Context, brakes ...Brake) (wait time.Duration, err error) {
	keys, free, most := make([]string, len(brakes)), make([]int64, len(brakes)), make([]float64, len(brakes))
	slices.SortFunc(brakes, func(a, b Brake) int {
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	for i, b := range brakes {
		keys[i], free[i], most[i] = b.Key, int64(b.Free), b.Most.Seconds()
	}
	_, err = inTx(ctx, s.pool, func(tx pgx.Tx) (struct{}, error) {
		var none struct{}
		rows, err := tx.Query(ctx, tryNowSQL, keys, free, most, brakeMemory)
		if err != nil {
			return none, fmt.Errorf("count a try: %w", err)
		}
		counted, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return none, fmt.Errorf("count a try: %w", err)
		}
		if len(counted) == len(keys) {
			return none, nil
		}
		var left float64
		err = tx.QueryRow(ctx, `select coalesce(max(extract(epoch from b.held_to - now())), 0)::float8 from fenceline.brakes b where b.key = any ($1)`, keys).Scan(&left)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return none, fmt.Errorf("read a brake: %w", err)
		}
		wait = max(time.Second, time.Duration(left*float64(time.Second)))
		return none, errHeld // what was counted is taken back
	})
	if errors.Is(err, errHeld) {
		err = nil
	}
	return wait, err
}

// Succeeded takes back what [Store.TryNow] counted for a try that succeeded: of
// the account everything, of the address this one try.
func (s *Store) Succeeded(ctx context.Context, account, address string) error {
	_, err := s.pool.Exec(ctx, `
		with released as (delete from fenceline.brakes b where b.key = $1)
		update fenceline.brakes b set tries = greatest(0, b.tries - 1), held_to = now() where b.key = $2`, account, address)
	if err != nil {
		return fmt.Errorf("release a brake: %w", err)
	}
	return nil
}
