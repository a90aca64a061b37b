package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fenceline/fenceline/store"
)

const (
	oldestServer = 140000
	newestServer = 180000 // the newest major version that the tests ran on
)

func (e *exam) serverVersion(ctx context.Context) ([]Finding, error) {
	var text string
	err := e.conn.QueryRow(ctx, `select current_setting('server_version_num')::int, current_setting('server_version')`).Scan(&e.version, &text)
	if err != nil {
		return nil, err
	}
	return []Finding{judgeVersion(e.version, text)}, nil
}

func judgeVersion(number int, text string) Finding {
	const name = "server_version"
	switch {
	case number < oldestServer:
		return fail(name, "Use PostgreSQL 14 or newer.", "PostgreSQL %s.", text)
	case store.CheckServer(text) != nil:
		return fail(name, "Update the server to PostgreSQL 18.2 or newer.", "PostgreSQL %s loses changes of batches that overlap; Fenceline does not connect to it.", text)
	case number/10000 > newestServer/10000:
		return warn(name, "Fenceline was tested up to PostgreSQL 18; look for a newer Fenceline.", "PostgreSQL %s.", text)
	}
	return ok(name, "PostgreSQL %s.", text)
}

func (e *exam) schemaVersion(ctx context.Context) ([]Finding, error) {
	const name = "schema_version"
	have, want, err := store.SchemaVersion(ctx, e.conn)
	switch {
	case err == nil:
		return []Finding{ok(name, "The schema is at version %d, and this program was built for %d.", have, want)}, nil
	case errors.Is(err, store.ErrSchema):
		advice := "Run `fenceline migrate`."
		if have > want {
			advice = "Use a newer program."
		}
		return []Finding{fail(name, advice, "%s.", capital(err.Error()))}, nil
	}
	return nil, err
}

// runtimeRole looks as whom the program would act.
func (e *exam) runtimeRole(ctx context.Context) ([]Finding, error) {
	const name = "runtime_role"
	conn, err := connect(ctx, e.cfg.URL)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var user string
	var there, member bool
	err = conn.QueryRow(ctx, `select current_user, r.oid is not null, coalesce(pg_has_role(current_user, r.oid,
		  case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end), false)
		from (select) one left join pg_roles r on r.rolname = '`+store.RuntimeRole+`'`).Scan(&user, &there, &member)
	switch {
	case err != nil:
		return nil, err
	case !there:
		return []Finding{fail(name, "Run `fenceline migrate`, which makes the role.", "The role %s does not exist.", store.RuntimeRole)}, nil
	case !member:
		return []Finding{fail(name, fmt.Sprintf("As an administrator: grant %s to %s.", store.RuntimeRole, user),
			"%s may not act as %s, which changes jobs and nothing else.", user, store.RuntimeRole)}, nil
	}
	return []Finding{ok(name, "%s acts as %s.", user, store.RuntimeRole)}, nil
}

func (e *exam) readOnly(ctx context.Context) ([]Finding, error) {
	const name = "read_only"
	var standby bool
	var refuses string
	err := e.conn.QueryRow(ctx, `select pg_is_in_recovery(), current_setting('default_transaction_read_only')`).Scan(&standby, &refuses)
	switch {
	case err != nil:
		return nil, err
	case standby:
		return []Finding{fail(name, "Name the primary: jobs are changed there, and nothing is decided on a standby.", "This server is a standby.")}, nil
	case refuses == "on":
		return []Finding{fail(name, "Set default_transaction_read_only off for this role and database.", "Transactions of this role are read-only.")}, nil
	}
	return []Finding{ok(name, "This server is a primary and takes writes.")}, nil
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
