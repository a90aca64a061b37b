package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype/zeronull"
)

// Token lets a program act for a person, within powers of its own and never
// beyond the person's.
type Token struct {
	ID                   int64
	Name                 string // what it is for; one of its person's
	Person               Person
	Powers               // its own; what holds is [Token.Holds]
	CreatedAt, ExpiresAt time.Time
	UsedAt               time.Time // of the last use, to a minute; zero when there was none
}

// Holds are the powers of the token within those of its person now.
func (t Token) Holds() Powers { return t.Powers.Within(t.Person.Powers) }

// Actor is as whom the token acts.
func (t Token) Actor() string { return t.Person.Name + "/" + t.Name }

// ErrNoToken says that there is no such token, or that it has expired.
var ErrNoToken = errors.New("no such token")

// MaxTokenLife bounds how long a token may be valid.
const MaxTokenLife = 366 * 24 * time.Hour

const tokenColumns = `t.id, t.name, t.role, t.rights, t.queues, t.created_at, t.expires_at, t.used_at`

func scanToken(row pgx.CollectableRow) (t Token, err error) {
	return t, row.Scan(t.Person.into(&t.ID, &t.Name, &t.Role, &t.Rights, &t.Queues, &t.CreatedAt, &t.ExpiresAt, (*zeronull.Timestamptz)(&t.UsedAt))...)
}

// AddToken keeps the hash of a token that acts for the person of a name, for so
// long, and records by whom it was made. [ErrNoPerson] when there is none; an
// *[InvalidError] names the field that cannot be accepted.
func (s *Store) AddToken(ctx context.Context, actor, person, name string, powers Powers, life time.Duration, hash string) error {
	if err := errors.Join(checkActorName(name), powers.Check()); err != nil {
		return err
	}
	if life <= 0 || life > MaxTokenLife {
		return &InvalidError{"expires", "must be after now and within 366 days"}
	}
	_, err := inTx(ctx, s.pool, func(tx pgx.Tx) (struct{}, error) {
		tag, err := tx.Exec(ctx, `
			insert into fenceline.tokens (person_id, expires_at, name, token_hash, role, rights, queues)
			select p.id, now() + $2::interval, $3, $4, $5, $6, $7 from fenceline.people p where p.name = $1`,
			person, life, name, hash, powers.Role, orEmpty(powers.Rights), powers.Queues)
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.ConstraintName == "name_of_a_person" {
			return struct{}{}, &InvalidError{"name", "is taken by another token of this person"}
		}
		if err != nil {
			return struct{}{}, fmt.Errorf("add a token: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return struct{}{}, ErrNoPerson
		}
		return struct{}{}, auditPerson(ctx, tx, actor, "token_add", "done", map[string]any{
			"person": person, "token": name, "role": powers.Role, "rights": orEmpty(powers.Rights), "queues": powers.Queues, "for_s": int64(life.Seconds())})
	})
	return err
}

// RemoveToken makes a person's token invalid at once. [ErrNoToken] when there is
// none of that name.
func (s *Store) RemoveToken(ctx context.Context, actor, person, name string) error {
	_, err := inTx(ctx, s.pool, func(tx pgx.Tx) (struct{}, error) {
		_, err := removeToken(ctx, tx, actor, `p.name = $1 and t.name = $2`, person, name)
		return struct{}{}, err
	})
	return err
}

// RemoveTokenOf makes the token of an id invalid at once, and returns what it
// was. [ErrNoToken] when it is gone: another one of the same name has another id.
func (s *Store) RemoveTokenOf(ctx context.Context, actor string, id int64) (Token, error) {
	return inTx(ctx, s.pool, func(tx pgx.Tx) (Token, error) { return removeToken(ctx, tx, actor, `t.id = $1`, id) })
}

func removeToken(ctx context.Context, tx pgx.Tx, actor, where string, args ...any) (Token, error) {
	rows, err := tx.Query(ctx, `delete from fenceline.tokens t using fenceline.people p where p.id = t.person_id and `+where+` returning `+personColumns+`, `+tokenColumns, args...)
	if err != nil {
		return Token{}, fmt.Errorf("remove a token: %w", err)
	}
	t, err := pgx.CollectExactlyOneRow(rows, scanToken)
	if errors.Is(err, pgx.ErrNoRows) {
		return Token{}, ErrNoToken
	}
	if err != nil {
		return Token{}, fmt.Errorf("remove a token: %w", err)
	}
	return t, auditPerson(ctx, tx, actor, "token_remove", "done", map[string]any{"person": t.Person.Name, "token": t.Name})
}

// Tokens returns a person's tokens, or everybody's for the id 0, those that
// expired within the last month included.
func (s *Store) Tokens(ctx context.Context, personID int64) ([]Token, error) {
	rows, err := s.pool.Query(ctx, `
		select `+personColumns+`, `+tokenColumns+`
		from fenceline.tokens t join fenceline.people p on p.id = t.person_id
		where ($1 = 0 or p.id = $1) and t.expires_at > now() - interval '30 days' order by p.name, t.name limit 1000`, personID)
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	return pgx.CollectRows(rows, scanToken)
}

// UseToken returns the token of a hash and notes that it was used. [ErrNoToken]
// when there is none that is valid.
func (s *Store) UseToken(ctx context.Context, hash string) (Token, error) {
	rows, err := s.pool.Query(ctx, `
		select `+personColumns+`, `+tokenColumns+`
		from fenceline.tokens t join fenceline.people p on p.id = t.person_id
		where t.token_hash = $1 and t.expires_at > now() and p.disabled_at is null`, hash)
	if err != nil {
		return Token{}, fmt.Errorf("find a token: %w", err)
	}
	t, err := pgx.CollectExactlyOneRow(rows, scanToken)
	if errors.Is(err, pgx.ErrNoRows) {
		return Token{}, ErrNoToken
	}
	if err != nil {
		return Token{}, fmt.Errorf("find a token: %w", err)
	}
	// Where nothing can be written a token can still look.
	_, _ = s.pool.Exec(ctx, `update fenceline.tokens t set used_at = now() where t.id = $1 and (t.used_at is null or t.used_at < now() - interval '1 minute')`, t.ID)
	return t, nil
}
