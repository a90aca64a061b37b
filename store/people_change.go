package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"
)

// ConflictLastAdmin says that an account stays what it is because no other admin
// could act: nobody could change what people may do, but for whoever reaches the
// database.
const ConflictLastAdmin Conflict = "last_admin"

// PersonConflictError says that a change of an account was refused. Nothing was
// changed.
type PersonConflictError struct {
	Why    Conflict // [ConflictChanged] or [ConflictLastAdmin]
	Person Person   // as it is now
	Seen   int64
}

// Error is a sentence for a person.
func (e *PersonConflictError) Error() string {
	if e.Why == ConflictLastAdmin {
		return e.Person.Name + " is the only admin whose account is enabled: make somebody else an admin first, or nobody could add or change accounts."
	}
	return fmt.Sprintf("The account of %s was changed since you looked: you saw revision %d, it is %d now.", e.Person.Name, e.Seen, e.Person.Revision)
}

// SeenPerson is the account that somebody changes, and what they saw of it.
type SeenPerson struct {
	Name     string
	Revision int64 // the revision that was looked at; 0 for whatever it is now
	// Elsewhere says that a proxy in front names admins who have no account, so
	// that no account has to be one.
	Elsewhere bool
}

// personChange is one change of an account, as it is recorded.
type personChange struct {
	action string
	detail map[string]any
	// ends says that whoever it concerns is no admin afterwards, or none who may act.
	ends bool
}

// SetPowers changes what a person may do; it holds from their next request on,
// and ends streams that it no longer allows. [ErrNoPerson] when there is none
// of that name, a *[PersonConflictError] when they are not as they were seen, or
// when nobody would be left who may change what people may do.
func (s *Store) SetPowers(ctx context.Context, actor string, who SeenPerson, powers Powers) (Person, error) {
	if err := powers.Check(); err != nil {
		return Person{}, err
	}
	detail := map[string]any{"role": powers.Role, "rights": orEmpty(powers.Rights), "queues": powers.Queues}
	change := personChange{action: "person_powers", detail: detail, ends: powers.Role != RoleAdmin}
	return s.changeSeen(ctx, actor, change, who, `role = $2, rights = $3, queues = $4`, powers.Role, orEmpty(powers.Rights), powers.Queues)
}

// Disable keeps a person from signing in and from acting by their tokens, and
// ends their sessions, until [Store.Enable]. Errors are those of
// [Store.SetPowers]; a repeat changes nothing but the revision.
func (s *Store) Disable(ctx context.Context, actor string, who SeenPerson) (Person, error) {
	return s.changeSeen(ctx, actor, personChange{action: "person_disable", ends: true}, who, `disabled_at = coalesce(p.disabled_at, now())`)
}

// Enable lets a person sign in again, and their tokens act. Errors are those of
// [Store.SetPowers].
func (s *Store) Enable(ctx context.Context, actor string, who SeenPerson) (Person, error) {
	return s.changeSeen(ctx, actor, personChange{action: "person_enable"}, who, `disabled_at = null`)
}

// SetPassword changes the password of somebody who signs in with one, of which
// hash is the PHC form, and signs them out everywhere. Their revision stays: they
// may do what they might. Errors are those of [Store.SetPowers]; [ErrNoPerson]
// too for who signs in elsewhere.
func (s *Store) SetPassword(ctx context.Context, actor string, who SeenPerson, hash string) (Person, error) {
	return s.asSeen(ctx, actor, personChange{action: "person_password"}, who, func(tx pgx.Tx, p Person) (Person, error) {
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
	return s.asSeen(ctx, actor, personChange{action: "person_remove", ends: true}, who, func(tx pgx.Tx, p Person) (Person, error) {
		if _, err := tx.Exec(ctx, `delete from fenceline.people p where p.id = $1`, p.ID); err != nil {
			return Person{}, fmt.Errorf("remove a person: %w", err)
		}
		return p, nil
	})
}

// changeSeen changes columns of an account as it was seen.
func (s *Store) changeSeen(ctx context.Context, actor string, c personChange, who SeenPerson, set string, args ...any) (Person, error) {
	return s.asSeen(ctx, actor, c, who, func(tx pgx.Tx, before Person) (Person, error) {
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

// lockPersonSQL locks the account of a name ($1), and with $2 every admin who
// may act, all in one order: of two admins who end each other one waits, and
// then counts what the other left.
const lockPersonSQL = `
select p.id from fenceline.people p
where p.name = $1 or $2 and p.role = 'admin' and p.disabled_at is null
order by p.id
for update`

// asSeen locks the account, holds it against what was seen, changes it, and
// records that in the audit, or that it was refused.
func (s *Store) asSeen(ctx context.Context, actor string, c personChange, who SeenPerson, change func(pgx.Tx, Person) (Person, error)) (Person, error) {
	if checkActorName(who.Name) != nil {
		return Person{}, ErrNoPerson
	}
	var conflict *PersonConflictError
	p, err := inTx(ctx, s.pool, func(tx pgx.Tx) (Person, error) {
		if _, err := tx.Exec(ctx, lockPersonSQL, who.Name, c.ends); err != nil {
			return Person{}, fmt.Errorf("lock an account: %w", err)
		}
		before, err := onePerson(ctx, tx, `select `+personColumns+` from fenceline.people p where p.name = $1`, who.Name)
		if err != nil {
			return Person{}, err
		}
		detail := map[string]any{"person": before.Name}
		maps.Copy(detail, c.detail)
		why, err := refusePerson(ctx, tx, c, who, before)
		if err != nil {
			return Person{}, err
		}
		if why != "" {
			conflict = &PersonConflictError{Why: why, Person: before, Seen: cmp.Or(who.Revision, before.Revision)}
			return Person{}, auditSeen(ctx, tx, actor, c.action, string(why), conflict.Seen, before.Revision, detail)
		}
		p, err := change(tx, before)
		if err != nil {
			return Person{}, err
		}
		return p, auditSeen(ctx, tx, actor, c.action, "done", cmp.Or(who.Revision, before.Revision), p.Revision, detail)
	})
	if err == nil && conflict != nil {
		err = conflict
	}
	return p, err
}

// refusePerson says why a locked account is left alone; empty when it is not.
func refusePerson(ctx context.Context, tx pgx.Tx, c personChange, who SeenPerson, before Person) (why Conflict, err error) {
	if who.Revision != 0 && who.Revision != before.Revision {
		return ConflictChanged, nil
	}
	if !c.ends || who.Elsewhere || before.Role != RoleAdmin || !before.DisabledAt.IsZero() {
		return "", nil
	}
	var another bool
	err = tx.QueryRow(ctx, `select exists (select from fenceline.people p where p.role = 'admin' and p.disabled_at is null and p.id <> $1)`, before.ID).Scan(&another)
	if err != nil {
		return "", fmt.Errorf("look for another admin: %w", err)
	}
	if !another {
		why = ConflictLastAdmin
	}
	return why, nil
}

func auditSeen(ctx context.Context, tx pgx.Tx, actor, action, outcome string, seen, revision int64, detail map[string]any) error {
	_, err := tx.Exec(ctx, `insert into fenceline.audit (actor, action, outcome, seen, revision, detail) values ($1, $2, $3, nullif($4::bigint, 0), nullif($5::bigint, 0), $6)`, actor, action, outcome, seen, revision, detail)
	if err != nil {
		return fmt.Errorf("record in the audit: %w", err)
	}
	return nil
}
