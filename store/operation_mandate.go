package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Mandate is on whose right an [Operation] is carried on: the account, and the
// token, of who confirmed it or resumed it last. Zero for those who act without
// an account: on the command line, where nobody signs in, and whom a proxy names.
type Mandate struct {
	PersonID int64
	TokenID  int64 // 0 for a person; a token has its person too
}

// HaltCode is what halted an [Operation].
type HaltCode string

// What halts an operation.
const (
	HaltStopRule  HaltCode = "stop_rule"  // its own rule
	HaltRightLost HaltCode = "right_lost" // who confirmed or resumed it may not act on many jobs any more
)

// withdrawn says why the operation must not go on: who carries it on may not do
// so any more; empty when they may. What it looked at stays as it is until the
// step is over: when the change of an account has been answered, no step on its
// right is under way.
func (o *underWay) withdrawn(ctx context.Context, tx pgx.Tx) (why string, err error) {
	if o.mandate.PersonID == 0 {
		return "", nil
	}
	p, err := onePerson(ctx, tx, `select `+personColumns+` from fenceline.people p where p.id = $1 for share`, o.mandate.PersonID)
	holds := p.Powers
	switch {
	case errors.Is(err, ErrNoPerson):
		return o.carrier() + " has no account any more", nil
	case err != nil:
		return "", err
	case !p.DisabledAt.IsZero():
		return o.carrier() + " has an account that is disabled", nil
	}
	if o.mandate.TokenID != 0 {
		t, expired, err := tokenUnder(ctx, tx, p, o.mandate.TokenID)
		switch {
		case errors.Is(err, ErrNoToken):
			return o.carrier() + " is a token that was revoked", nil
		case err != nil:
			return "", err
		case expired:
			return fmt.Sprintf("%s is a token that expired at %s", o.carrier(), t.ExpiresAt.UTC().Format(time.RFC3339)), nil
		}
		holds = t.Holds()
	}
	if why := holds.whyNotBulk(); why != "" {
		return o.carrier() + " " + why, nil
	}
	return "", nil
}

// carrier names who carries the operation on, and how they came to.
func (o *underWay) carrier() string {
	if o.resumed {
		return o.ActsFor + ", who resumed it,"
	}
	return o.ActsFor + ", who confirmed it,"
}

// tokenUnder reads a token and keeps it from being revoked meanwhile.
func tokenUnder(ctx context.Context, tx pgx.Tx, of Person, id int64) (t Token, expired bool, err error) {
	t.Person = of
	err = tx.QueryRow(ctx, `
		select t.role, t.rights, t.queues, t.expires_at, t.expires_at <= clock_timestamp()
		from fenceline.tokens t where t.id = $1 and t.person_id = $2 for share`, id, of.ID).Scan(&t.Role, &t.Rights, &t.Queues, &t.ExpiresAt, &expired)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrNoToken
	}
	return t, expired, err
}
