package store

import (
	"cmp"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// SeenPerson is the account that somebody changes, and what they saw of it.
type SeenPerson struct {
	Name     string
	Revision int64 // the revision that was looked at; 0 for whatever it is now
}

// SetPowers changes what a person may do; it holds from their next request on,
// and ends streams that it no longer allows. [ErrNoPerson] when there is none
// of that name, a *[PersonConflictError] when they are not as they were seen.
func (s *Store) SetPowers(ctx context.Context, actor string, who SeenPerson, powers Powers) (Person, error) {
	if err := powers.Check(); err != nil {
		return Person{}, err
	}
	detail := map[string]any{"role": powers.Role, "rights": orEmpty(powers.Rights), "queues": powers.Queues}
	return s.changeSeen(ctx, actor, "person_powers", who, detail, `role = $2, rights = $3, queues = $4`, powers.Role, orEmpty(powers.Rights), powers.Queues)
}

// Disable keeps a person from signing in and from acting by their tokens, and
// ends their sessions, until [Store.Enable]. Errors are those of
// [Store.SetPowers]; a repeat changes nothing but the revision.
func (s *Store) Disable(ctx context.Context, actor string, who SeenPerson) (Person, error) {
	return s.changeSeen(ctx, actor, "person_disable", who, map[string]any{}, `disabled_at = coalesce(p.disabled_at, now())`)
}

// Enable lets a person sign in again, and their tokens act. Errors are those of
// [Store.SetPowers].
func (s *Store) Enable(ctx context.Context, actor string, who SeenPerson) (Person, error) {
	return s.changeSeen(ctx, actor, "person_enable", who, map[string]any{}, `disabled_at = null`)
}

// SetPassword changes the password of somebody who signs in with one, of which
// hash is the PHC form, and signs them out everywhere. Their revision stays: they
// may do what they might. Errors are those of [Store.SetPowers]; [ErrNoPerson]
// too for who signs in elsewhere.
func (s *Store) SetPassword(ctx context.Context, actor string, who SeenPerson, hash string) (Person, error) {
	return s.asSeen(ctx, actor, "person_password", who, map[string]any{}, func(tx pgx.Tx, p Person) (Person, error) {
		if !p.Local {
			return Person{}, ErrNoPerson
		}
		if _, err := tx.Exec(ctx, `update fenceline.people p set password = $2 where p.id = $1`, p.ID, hash); err != nil {
			return Person{}, fmt.Errorf("set a password: %w", err)
		}
		return p, endSignIns(ctx, tx, p)
	})
}

// RemovePerson takes an account away, with its sessions and tokens; what was
// recorded stays. It returns what the account was. Errors are those of
// [Store.SetPowers].
func (s *Store) RemovePerson(ctx context.Context, actor string, who SeenPerson) (Person, error) {
	return s.asSeen(ctx, actor, "person_remove", who, map[string]any{}, func(tx pgx.Tx, p Person) (Person, error) {
		if _, err := tx.Exec(ctx, `delete from fenceline.people p where p.id = $1`, p.ID); err != nil {
			return Person{}, fmt.Errorf("remove a person: %w", err)
		}
		return p, nil
	})
}

// changeSeen changes columns of an account as it was seen.
func (s *Store) changeSeen(ctx context.Context, actor, action string, who SeenPerson, detail map[string]any, set string, args ...any) (Person, error) {
	return s.asSeen(ctx, actor, action, who, detail, func(tx pgx.Tx, before Person) (Person, error) {
		p, err := onePerson(ctx, tx, `update fenceline.people p set revision = p.revision + 1, `+set+` where p.id = $1 returning `+personColumns, append([]any{before.ID}, args...)...)
		// Enabled again, too: a session may have begun while the account was disabled.
		if err == nil && (!p.DisabledAt.IsZero() || !before.DisabledAt.IsZero()) {
			err = endSignIns(ctx, tx, p)
		}
		return p, err
	})
}

func endSignIns(ctx context.Context, tx pgx.Tx, of Person) error {
	if _, err := tx.Exec(ctx, `delete from fenceline.sign_ins s where s.person_id = $1`, of.ID); err != nil {
		return fmt.Errorf("end sign-ins: %w", err)
	}
	return nil
}

// asSeen locks the account, holds it against what was seen, changes it, and
// records that in the audit, or that it was refused.
func (s *Store) asSeen(ctx context.Context, actor, action string, who SeenPerson, detail map[string]any, change func(pgx.Tx, Person) (Person, error)) (Person, error) {
	if checkActorName(who.Name) != nil {
		return Person{}, ErrNoPerson
	}
	var conflict *PersonConflictError
	p, err := inTx(ctx, s.pool, func(tx pgx.Tx) (Person, error) {
		before, err := onePerson(ctx, tx, `select `+personColumns+` from fenceline.people p where p.name = $1 for update`, who.Name)
		if err != nil {
			return Person{}, err
		}
		detail["person"] = before.Name
		if who.Revision != 0 && who.Revision != before.Revision {
			conflict = &PersonConflictError{Person: before, Seen: who.Revision}
			return Person{}, auditSeen(ctx, tx, actor, action, string(ConflictChanged), who.Revision, before.Revision, detail)
		}
		p, err := change(tx, before)
		if err != nil {
			return Person{}, err
		}
		return p, auditSeen(ctx, tx, actor, action, "done", cmp.Or(who.Revision, before.Revision), p.Revision, detail)
	})
	if err == nil && conflict != nil {
		err = conflict
	}
	return p, err
}

func auditSeen(ctx context.Context, tx pgx.Tx, actor, action, outcome string, seen, revision int64, detail map[string]any) error {
	_, err := tx.Exec(ctx, `insert into fenceline.audit (actor, action, outcome, seen, revision, detail) values ($1, $2, $3, nullif($4::bigint, 0), nullif($5::bigint, 0), $6)`, actor, action, outcome, seen, revision, detail)
	if err != nil {
		return fmt.Errorf("record in the audit: %w", err)
	}
	return nil
}
