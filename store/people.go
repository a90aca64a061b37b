package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"
)

// ErrNoPerson says that there is no such person.
var ErrNoPerson = errors.New("no such person")

// ErrDisabled says that somebody has an account that is disabled.
var ErrDisabled = errors.New("the account is disabled")

// Person is somebody who may sign in.
type Person struct {
	ID   int64
	Name string
	Powers
	Revision   int64 // grows with each change of what they may do
	CreatedAt  time.Time
	SignedAt   time.Time // of the last sign-in; zero when there was none
	DisabledAt time.Time // since when they may neither sign in nor act by a token; zero for who may
	Local      bool      // signs in with a password kept here
	Issuer     string    // the OpenID provider that vouches for them; empty for others
}

const maxPersonName = 100

// actors are those who act without an account: where nobody signs in, on the
// command line, and in the audit of people who are no one yet.
var actors = []string{"local", "cli", "bench", "drill", "fenceline", "set-up", "sign-in", "unknown"}

// CheckPersonName says, as an *[InvalidError], why a name cannot be a person's.
// It stands in transitions beside the actors that are no persons: none of those
// can be taken for one.
func CheckPersonName(name string) error {
	if slices.Contains(actors, strings.ToLower(name)) {
		return &InvalidError{"name", "is kept for those who act without signing in"}
	}
	return checkActorName(name)
}

// checkActorName is CheckPersonName for the part of a name that stands beside
// another.
func checkActorName(name string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	switch {
	case name == "":
		return &InvalidError{"name", "is required"}
	case len(name) > maxPersonName:
		return &InvalidError{"name", fmt.Sprintf("is longer than %d bytes", maxPersonName)}
	case strings.Trim(name, letters+"._-+@") != "" || !strings.Contains(letters, name[:1]):
		return &InvalidError{"name", "may hold letters, digits and . _ - + @ only, and begins with a letter or digit"}
	}
	return nil
}

const personColumns = `p.id, p.name, p.role, p.rights, p.queues, p.revision, p.created_at, p.signed_at, p.disabled_at, p.password is not null, coalesce(p.issuer, '')`

// into is where [personColumns] are scanned to, and what follows them.
func (p *Person) into(more ...any) []any {
	return append([]any{&p.ID, &p.Name, &p.Role, &p.Rights, &p.Queues, &p.Revision, &p.CreatedAt,
		(*zeronull.Timestamptz)(&p.SignedAt), (*zeronull.Timestamptz)(&p.DisabledAt), &p.Local, &p.Issuer}, more...)
}

func scanPerson(row pgx.CollectableRow) (p Person, err error) {
	return p, row.Scan(p.into()...)
}

// People returns everybody who may sign in, by name.
func (s *Store) People(ctx context.Context) ([]Person, error) {
	rows, err := s.pool.Query(ctx, `select `+personColumns+` from fenceline.people p order by p.name`)
	if err != nil {
		return nil, fmt.Errorf("read people: %w", err)
	}
	return pgx.CollectRows(rows, scanPerson)
}

// Person reads one person. [ErrNoPerson] when there is none of that id.
func (s *Store) Person(ctx context.Context, id int64) (Person, error) {
	return s.person(ctx, `p.id = $1`, id)
}

// PersonNamed reads the person of a name. [ErrNoPerson] when there is none.
func (s *Store) PersonNamed(ctx context.Context, name string) (Person, error) {
	if checkActorName(name) != nil {
		return Person{}, ErrNoPerson
	}
	return s.person(ctx, `p.name = $1`, name)
}

func (s *Store) person(ctx context.Context, where string, arg any) (Person, error) {
	return onePerson(ctx, s.pool, `select `+personColumns+` from fenceline.people p where `+where, arg)
}

// onePerson returns the one whose columns a statement returns.
func onePerson(ctx context.Context, on interface {
	Query(context.Context, string, ...any) (pgx.Rows, error)
}, sql string, args ...any) (Person, error) {
	rows, err := on.Query(ctx, sql, args...)
	if err != nil {
		return Person{}, fmt.Errorf("read a person: %w", err)
	}
	p, err := pgx.CollectExactlyOneRow(rows, scanPerson)
	if errors.Is(err, pgx.ErrNoRows) {
		return Person{}, ErrNoPerson
	}
	return p, err
}

// PasswordOf returns the person of a name with the hash of the password.
// [ErrNoPerson] when there is none, or none who signs in with a password.
func (s *Store) PasswordOf(ctx context.Context, name string) (p Person, hash string, err error) {
	if checkActorName(name) != nil {
		return Person{}, "", ErrNoPerson
	}
	err = s.pool.QueryRow(ctx, `select p.id, p.password from fenceline.people p where p.name = $1 and p.password is not null`, name).Scan(&p.ID, &hash)
	if errors.Is(err, pgx.ErrNoRows) {
		return Person{}, "", ErrNoPerson
	}
	if err != nil {
		return Person{}, "", fmt.Errorf("read a person: %w", err)
	}
	p, err = s.Person(ctx, p.ID)
	return p, hash, err
}

// AnybodySignsIn reports whether there is a person at all.
func (s *Store) AnybodySignsIn(ctx context.Context) (any bool, err error) {
	if err := s.pool.QueryRow(ctx, `select exists (select from fenceline.people)`).Scan(&any); err != nil {
		return false, fmt.Errorf("read people: %w", err)
	}
	return any, nil
}

const addPersonSQL = `
with added as (
  insert into fenceline.people (name, role, rights, queues, password, issuer, subject)
  select $2, $3, $4, $5, nullif($6, ''), nullif($7, ''), nullif($8, '')
  where not exists (select from fenceline.people p where lower(p.name) = lower($2::text))
  returning id
), used_up as (
  delete from fenceline.setup_codes
), audited as (
  insert into fenceline.audit (actor, action, outcome, detail)
  select $1, 'person_add', 'done', jsonb_build_object('person', $2::text, 'role', $3::text, 'rights', to_jsonb($4::text[]), 'queues', to_jsonb($5::text[]))
  from added
)
select id from added`

// AddPerson adds somebody who signs in with a password, of which hash is the
// PHC form, and records by whom. Codes to make the first account are worth
// nothing from then on. An *[InvalidError] names the field when the name is
// taken, be it with other capitals, or something cannot be accepted.
func (s *Store) AddPerson(ctx context.Context, actor, name string, powers Powers, hash string) (Person, error) {
	return inTx(ctx, s.pool, func(tx pgx.Tx) (Person, error) { return addPerson(ctx, tx, actor, name, powers, hash, "", "") })
}

func addPerson(ctx context.Context, tx pgx.Tx, actor, name string, powers Powers, hash, issuer, subject string) (Person, error) {
	if err := errors.Join(CheckPersonName(name), powers.Check()); err != nil {
		return Person{}, err
	}
	// Two at once with names that people could take for each other: one is first.
	if _, err := tx.Exec(ctx, `lock table fenceline.people in share row exclusive mode`); err != nil {
		return Person{}, fmt.Errorf("add a person: %w", err)
	}
	var id int64
	err := tx.QueryRow(ctx, addPersonSQL, actor, name, powers.Role, orEmpty(powers.Rights), powers.Queues, hash, issuer, subject).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Person{}, &InvalidError{"name", "is taken"}
	}
	if err != nil {
		return Person{}, fmt.Errorf("add a person: %w", err)
	}
	return onePerson(ctx, tx, `select `+personColumns+` from fenceline.people p where p.id = $1`, id)
}

func orEmpty[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

func auditPerson(ctx context.Context, tx pgx.Tx, actor, action, outcome string, detail map[string]any) error {
	return auditSeen(ctx, tx, actor, action, outcome, 0, 0, detail)
}

// RecordSignIn keeps in the audit what became of an attempt to sign in or out:
// who it was, from where, and never with what.
func (s *Store) RecordSignIn(ctx context.Context, actor, action, outcome, address string) error {
	_, err := inTx(ctx, s.pool, func(tx pgx.Tx) (struct{}, error) {
		return struct{}{}, auditPerson(ctx, tx, actor, action, outcome, map[string]any{"address": address})
	})
	return err
}
