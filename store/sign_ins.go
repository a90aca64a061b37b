package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// SignIn is one browser in which somebody is signed in.
type SignIn struct {
	TokenHash string // names it; the token cannot be made from it
	Person    Person
	CreatedAt time.Time
	SeenAt    time.Time // of the last request, to a minute
	ExpiresAt time.Time // unless it is used again, and at the latest
	Address   string
	Agent     string
}

// KeptSignIn is what is kept of a browser's session. Its times are from now on,
// on the database's clock.
type KeptSignIn struct {
	TokenHash string
	PersonID  int64  // 0 before the sign-in is done
	Fitted    string // the hash that the password was compared with; empty for whom somebody else vouches
	Address   string
	Agent     string
	Data      []byte
	Idle      time.Duration // until it ends unless it is used
	Most      time.Duration // until it ends however much it is used
}

// KeepSignIn stores a session, or brings one up to date. [ErrNoPerson] when its
// person was removed meanwhile, or has another password than the one that fitted:
// what ended their sessions has ended this one too.
func (s *Store) KeepSignIn(ctx context.Context, k KeptSignIn) error {
	tag, err := s.pool.Exec(ctx, `
		with gone as (
		  delete from fenceline.sign_ins s where s.token_hash in (
		    select o.token_hash from fenceline.sign_ins o where o.expires_at < now() order by o.expires_at limit 20 for update skip locked)
		), whose as (
		  select p.id from fenceline.people p
		  where p.id = $2 and ($8 = '' or p.password = $8)
		  for share
		)
		insert into fenceline.sign_ins as s (token_hash, person_id, expires_at, ends_at, address, agent, data)
		select $1, w.id, now() + least($3::interval, $4::interval), now() + $4::interval, $5, $6, $7
		from (values (1)) one left join whose w on true
		where $2::bigint = 0 or w.id is not null
		on conflict (token_hash) do update
		set person_id = excluded.person_id, expires_at = excluded.expires_at, ends_at = excluded.ends_at, data = excluded.data, seen_at = now()`,
		k.TokenHash, k.PersonID, k.Idle, k.Most, k.Address, k.Agent, k.Data, k.Fitted)
	if err != nil {
		return fmt.Errorf("keep a sign-in: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return ErrNoPerson
	}
	return nil
}

// UseSignIn puts off the end of a session that is used, at most to its absolute
// end, and writes at most once in half a minute. One that was ended stays so.
func (s *Store) UseSignIn(ctx context.Context, tokenHash string, idle time.Duration) error {
	_, err := s.pool.Exec(ctx, `
		update fenceline.sign_ins s set seen_at = now(), expires_at = least(s.ends_at, now() + $2::interval)
		where s.token_hash = $1 and s.expires_at > now() and s.seen_at < now() - least(interval '30 s', $2::interval / 4)`, tokenHash, idle)
	if err != nil {
		return fmt.Errorf("use a sign-in: %w", err)
	}
	return nil
}

// FindSignIn returns what is kept of a session that has not ended.
func (s *Store) FindSignIn(ctx context.Context, tokenHash string) (data []byte, found bool, err error) {
	err = s.pool.QueryRow(ctx, `select s.data from fenceline.sign_ins s where s.token_hash = $1 and s.expires_at > now()`, tokenHash).Scan(&data)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("find a sign-in: %w", err)
	}
	return data, true, nil
}

// SignedIn returns who is signed in under a token of that hash, as they are
// now. It does not count as use. [ErrNoPerson] when nobody is, or no more.
func (s *Store) SignedIn(ctx context.Context, tokenHash string) (Person, error) {
	return s.person(ctx, `p.disabled_at is null and p.id = (select s.person_id from fenceline.sign_ins s where s.token_hash = $1 and s.expires_at > now())`, tokenHash)
}

// EndSignIn ends a session. Repeats do nothing.
func (s *Store) EndSignIn(ctx context.Context, tokenHash string) error {
	if _, err := s.pool.Exec(ctx, `delete from fenceline.sign_ins s where s.token_hash = $1`, tokenHash); err != nil {
		return fmt.Errorf("end a sign-in: %w", err)
	}
	return nil
}

// EndSignInsOf ends sessions of a person, and records by whom: the one of a
// hash, or all but the one of keep when hash is empty. It tells how many there
// were, and records nothing when there were none.
func (s *Store) EndSignInsOf(ctx context.Context, actor string, of Person, hash, keep string) (ended int64, err error) {
	return inTx(ctx, s.pool, func(tx pgx.Tx) (int64, error) {
		tag, err := tx.Exec(ctx, `delete from fenceline.sign_ins s where s.person_id = $1
			and case when $2 = '' then s.token_hash <> $3 else s.token_hash = $2 end`, of.ID, hash, keep)
		if err != nil {
			return 0, fmt.Errorf("end sign-ins: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return 0, nil
		}
		return tag.RowsAffected(), auditPerson(ctx, tx, actor, "sign_ins_end", "done", map[string]any{"person": of.Name, "ended": tag.RowsAffected()})
	})
}

// SignIns returns where a person is signed in, the newest first; 0 asks for
// everybody's.
func (s *Store) SignIns(ctx context.Context, personID int64) ([]SignIn, error) {
	rows, err := s.pool.Query(ctx, `
		select `+personColumns+`, s.token_hash, s.created_at, s.seen_at, s.expires_at, coalesce(s.address, ''), coalesce(s.agent, '')
		from fenceline.sign_ins s join fenceline.people p on p.id = s.person_id
		where s.expires_at > now() and ($1 = 0 or p.id = $1) order by s.created_at desc limit 200`, personID)
	if err != nil {
		return nil, fmt.Errorf("read sign-ins: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (in SignIn, err error) {
		return in, row.Scan(in.Person.into(&in.TokenHash, &in.CreatedAt, &in.SeenAt, &in.ExpiresAt, &in.Address, &in.Agent)...)
	})
}

// NoteSignIn records that a person signed in, from where.
func (s *Store) NoteSignIn(ctx context.Context, personID int64, name, address string) error {
	_, err := inTx(ctx, s.pool, func(tx pgx.Tx) (struct{}, error) {
		if _, err := tx.Exec(ctx, `update fenceline.people p set signed_at = now() where p.id = $1`, personID); err != nil {
			return struct{}{}, fmt.Errorf("note a sign-in: %w", err)
		}
		return struct{}{}, auditPerson(ctx, tx, name, "sign_in", "done", map[string]any{"address": address})
	})
	return err
}

// KeepSetupCode lets whoever has the code of that hash make the first account,
// for an hour.
func (s *Store) KeepSetupCode(ctx context.Context, codeHash string) error {
	_, err := s.pool.Exec(ctx, `
		with gone as (delete from fenceline.setup_codes c where c.expires_at < now())
		insert into fenceline.setup_codes (code_hash, expires_at) values ($1, now() + interval '1 hour')`, codeHash)
	if err != nil {
		return fmt.Errorf("keep a set-up code: %w", err)
	}
	return nil
}

// SetUp makes the first account, of an admin, for whoever has the code of that
// hash, which is used up with it. [ErrNoPerson] when the code is not one, was
// used, or there are people already.
func (s *Store) SetUp(ctx context.Context, codeHash, name, passwordHash string) (Person, error) {
	return inTx(ctx, s.pool, func(tx pgx.Tx) (Person, error) {
		// Two browsers with two codes: one of them is first.
		if _, err := tx.Exec(ctx, `lock table fenceline.people in share row exclusive mode`); err != nil {
			return Person{}, fmt.Errorf("set up: %w", err)
		}
		var may bool
		err := tx.QueryRow(ctx, `
			with used as (delete from fenceline.setup_codes c where c.code_hash = $1 and c.expires_at > now() returning 1)
			select exists (select from used) and not exists (select from fenceline.people)`, codeHash).Scan(&may)
		if err != nil {
			return Person{}, fmt.Errorf("set up: %w", err)
		}
		if !may {
			return Person{}, ErrNoPerson
		}
		return addPerson(ctx, tx, "set-up", name, Powers{Role: RoleAdmin}, passwordHash, "", "")
	})
}

// Vouched returns the person whom an OpenID provider vouches for, with the
// powers that it gives them now. Who comes for the first time is added under
// the name; it is an *[InvalidError] when somebody else has that name, and
// [ErrDisabled] when their account is disabled.
func (s *Store) Vouched(ctx context.Context, issuer, subject, name string, powers Powers) (Person, error) {
	return inTx(ctx, s.pool, func(tx pgx.Tx) (Person, error) {
		before, err := onePerson(ctx, tx, `select `+personColumns+` from fenceline.people p where p.issuer = $1 and p.subject = $2 for update`, issuer, subject)
		switch {
		case errors.Is(err, ErrNoPerson):
			return addPerson(ctx, tx, "sign-in", name, powers, "", issuer, subject)
		case err != nil:
			return Person{}, err
		case !before.DisabledAt.IsZero():
			return Person{}, ErrDisabled
		}
		p, err := onePerson(ctx, tx, `update fenceline.people p set role = $2, rights = $3, queues = $4,
			revision = p.revision + ((p.role, p.rights, p.queues) is distinct from ($2, $3::text[], $4::text[]))::int
			where p.id = $1 returning `+personColumns, before.ID, powers.Role, orEmpty(powers.Rights), powers.Queues)
		if err != nil || p.Revision == before.Revision {
			return p, err
		}
		return p, auditSeen(ctx, tx, "sign-in", "person_powers", "done", before.Revision, p.Revision,
			map[string]any{"person": p.Name, "role": powers.Role, "rights": orEmpty(powers.Rights), "queues": powers.Queues})
	})
}

// NotVouched ends the sessions of somebody whom an OpenID provider names but whom
// the console lets in no more, and records that. Nothing is done for who was never
// here. Their tokens hold what the last sign-in gave, until an admin disables them.
func (s *Store) NotVouched(ctx context.Context, issuer, subject string) error {
	p, err := onePerson(ctx, s.pool, `select `+personColumns+` from fenceline.people p where p.issuer = $1 and p.subject = $2`, issuer, subject)
	if errors.Is(err, ErrNoPerson) {
		return nil
	}
	if err == nil {
		_, err = s.EndSignInsOf(ctx, "sign-in", p, "", "")
	}
	return err
}
