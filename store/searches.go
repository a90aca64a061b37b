package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store/search"
)

// ErrNoSearch says that no search is kept under an id, or none any more.
var ErrNoSearch = errors.New("search not found")

// SearchKept is how long a search is kept at least.
const SearchKept = 30 * 24 * time.Hour

// KeepSearch keeps a search that holds what jobs were given, so that an address
// can name it without holding it, and records in the same transaction who asked.
// The record holds the id and never the search. The id cannot be guessed. An
// *[InvalidError] says that it asks for what nobody may see.
func (s *Store) KeepSearch(ctx context.Context, q search.Query, actor string) (uuid.UUID, error) {
	if err := s.mayBeAsked(q); err != nil {
		return uuid.Nil, err
	}
	id, err := uuid.NewRandom()
	if err != nil {
		return uuid.Nil, fmt.Errorf("make an id: %w", err)
	}
	return inTx(ctx, s.pool, func(tx pgx.Tx) (uuid.UUID, error) {
		_, err := tx.Exec(ctx, `
			with gone as (
			  delete from fenceline.searches s where s.id in (
			    select o.id from fenceline.searches o where o.at < now() - $4::interval order by o.at limit 100)
			), audited as (
			  insert into fenceline.audit (actor, action, outcome, detail)
			  values ($2, 'search', 'done', jsonb_build_object('search', $1::uuid))
			)
			insert into fenceline.searches (id, actor, query) values ($1, $2, $3)`,
			id, actor, q.String(), SearchKept)
		if err != nil {
			return uuid.Nil, fmt.Errorf("keep a search: %w", err)
		}
		return id, nil
	})
}

// KeptSearch returns the search that is kept under an id. [ErrNoSearch] when
// there is none.
func (s *Store) KeptSearch(ctx context.Context, id uuid.UUID) (search.Query, error) {
	var text string
	err := s.pool.QueryRow(ctx, `select s.query from fenceline.searches s where s.id = $1`, id).Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		return search.Query{}, ErrNoSearch
	}
	if err != nil {
		return search.Query{}, fmt.Errorf("read a search: %w", err)
	}
	q, err := search.Parse(text)
	if err != nil {
		return search.Query{}, fmt.Errorf("read search %s: %w", id, err)
	}
	return q, nil
}

// Known are values that can be searched for, as the newest jobs have them:
// enough to complete what somebody types, and not all there are.
type Known struct {
	Kinds, Queues, Workers, Tags []string // each in order
}

// knownLook is how many jobs are looked at for known values, and knownMost how
// many values of each field are told.
const (
	knownLook = 2000
	knownMost = 100
)

const knownSQL = `
with newest as materialized (
  select j.kind, j.queue, j.worker, j.tags from fenceline.jobs j order by j.id desc limit $1
)
select array(select distinct n.kind from newest n order by 1 limit $2),
       array(select distinct n.queue from newest n order by 1 limit $2),
       array(select distinct n.worker from newest n where n.worker is not null order by 1 limit $2),
       array(select distinct tag from newest n cross join lateral unnest(n.tags) tag order by 1 limit $2)`

// Known reads the values that the newest jobs have.
func (s *Store) Known(ctx context.Context) (k Known, err error) {
	err = s.pool.QueryRow(ctx, knownSQL, knownLook, knownMost).Scan(&k.Kinds, &k.Queues, &k.Workers, &k.Tags)
	if err != nil {
		return Known{}, fmt.Errorf("read known values: %w", err)
	}
	return k, nil
}
