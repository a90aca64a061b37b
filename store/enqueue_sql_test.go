package store_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fenceline/fenceline/store"
)

// as is the address of the test's database for another login role.
func as(t *testing.T, owner, role string) string {
	t.Helper()
	u, err := url.Parse(owner)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}

// login makes a role that can log in and nothing else, and a session of it.
func (f *fixture) login() (string, *pgx.Conn) {
	f.t.Helper()
	role := "shop_" + strings.ToLower(rand.Text()[:12])
	f.exec("create role " + role + " login")
	f.t.Cleanup(func() {
		f.owner.Exec(context.Background(), "drop owned by "+role+"; drop role "+role)
	})
	conn, err := pgx.Connect(f.ctx, as(f.t, f.url, role))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { conn.Close(context.Background()) })
	return role, conn
}

func code(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return fmt.Sprint(err)
}

func TestTheSQLFunctionRefusesEachBadArgumentAndNamesIt(t *testing.T) {
	f := open(t)
	for _, bad := range []struct{ argument, call string }{
		{"kind", `null`},
		{"kind", `''`},
		{"kind", `repeat('é', 512) || 'x'`},
		{"kind", `E'a\nb'`},
		{"queue", `'k', queue => null`},
		{"queue", `'k', queue => ''`},
		{"queue", `'k', queue => repeat('x', 1025)`},
		{"queue", `'k', queue => E'a\u0085b'`},
		{"key", `'k', key => ''`},
		{"key", `'k', key => repeat('x', 1025)`},
		{"key", `'k', key => E'a\tb'`},
		{"args", `'k', null`},
		{"args", `'k', to_jsonb(repeat('x', 1048575))`},
		{"args", `'k', (repeat('[', 1001) || repeat(']', 1001))::jsonb`},
		{"args", `'k', (repeat('{"a":', 1001) || '1' || repeat('}', 1001))::jsonb`},
		{"priority", `'k', priority => null`},
		{"priority", `'k', priority => 32768`},
		{"priority", `'k', priority => -32769`},
		{"run_at", `'k', run_at => 'infinity'`},
		{"run_at", `'k', run_at => '-infinity'`},
		{"run_at", `'k', run_at => '10000-01-01 00:00Z'`},
		{"run_at", `'k', run_at => '1969-12-31 23:59:59Z'`},
		{"run_at", `'k', run_at => '4713-01-01 00:00Z BC'`},
		{"max_attempts", `'k', max_attempts => null`},
		{"max_attempts", `'k', max_attempts => 0`},
		{"max_attempts", `'k', max_attempts => 1000001`},
		{"tags", `'k', tags => array_fill('x'::text, array[33])`},
		{"tags", `'k', tags => array['a', null]`},
		{"tags", `'k', tags => array['a', '']`},
		{"tags", `'k', tags => array[E'a\rb']`},
		{"tags", `'k', tags => array[repeat('x', 256)]`},
		{"tags", `'k', tags => '{{a},{b}}'`},
		{"actor", `'k', actor => repeat('x', 256)`},
		{"actor", `'k', actor => E'a\nb'`},
	} {
		_, err := f.owner.Exec(f.ctx, "select * from fenceline.enqueue("+bad.call+")")
		var pgErr *pgconn.PgError
		if !errors.As(err, &pgErr) || pgErr.Code != "FL422" || pgErr.ColumnName != bad.argument || pgErr.Detail == "" ||
			!strings.HasPrefix(pgErr.Message, bad.argument+": ") {
			t.Errorf("enqueue(%s): %v (column %q), want FL422 of %s", bad.call, err, column(err), bad.argument)
		}
	}
	if got := f.stored(); got != [2]int64{} {
		t.Errorf("stored (jobs, transitions) %v", got)
	}
}

func column(err error) string {
	var pgErr *pgconn.PgError
	errors.As(err, &pgErr)
	if pgErr == nil {
		return ""
	}
	return pgErr.ColumnName
}

func TestTheSQLFunctionAcceptsWhatStandsJustWithinItsLimits(t *testing.T) {
	f := open(t)
	for _, call := range []string{
		`repeat('é', 512)`,
		`'k', queue => repeat('x', 1024)`,
		`'k', key => repeat('é', 512)`,
		`'k', to_jsonb(repeat('x', 1048574))`,
		`'k', (repeat('[', 1000) || '1' || repeat(']', 1000))::jsonb`,
		`'k', (repeat('{"a":', 1000) || '"[[["' || repeat('}', 1000))::jsonb`,
		`'k', 'null'`,
		`'k', priority => 32767`,
		`'k', priority => -32768`,
		`'k', run_at => '9999-12-31 23:59:59.999999Z'`,
		`'k', run_at => '1970-01-01 00:00Z'`,
		`'k', max_attempts => 1`,
		`'k', max_attempts => 1000000`,
		`'k', tags => array_fill(repeat('x', 255), array[32])`,
		`'k', tags => '{}'`,
		`'k', actor => repeat('x', 255)`,
	} {
		id := value[int64](f, "select id from fenceline.enqueue("+call+")")
		if j := f.job(id); j.Revision != 1 {
			t.Errorf("%s: %+v", call, j)
		}
	}
	f.consistent()
}

func TestTheSQLFunctionAnswersARepeatAndRefusesAnotherRequestWithTheKey(t *testing.T) {
	f := open(t)
	call := `select id, existing from fenceline.enqueue('report', '{"month": 3}', key => 'march')`
	var id, again int64
	var existing, repeated bool
	if err := f.owner.QueryRow(f.ctx, call).Scan(&id, &existing); err != nil {
		t.Fatal(err)
	}
	if err := f.owner.QueryRow(f.ctx, call).Scan(&again, &repeated); err != nil {
		t.Fatal(err)
	}
	if existing || !repeated || again != id {
		t.Errorf("first %d %v, then %d %v", id, existing, again, repeated)
	}
	_, err := f.owner.Exec(f.ctx, `select * from fenceline.enqueue('report', '{"month": 4}', key => 'march')`)
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "FL409" || pgErr.ColumnName != "key" || pgErr.Detail != strconv.FormatInt(id, 10) {
		t.Errorf("%v, want FL409 with job %d", err, id)
	}
	// Both ways in make the same request of the same words.
	if out, err := f.Enqueue(f.ctx, store.Request{Kind: "report", Key: "march", Args: []byte(`{"month":3}`)}); err != nil || out.ID != id || !out.Existing {
		t.Errorf("by Go: %+v %v", out, err)
	}
}

func TestTheSQLFunctionServesARoleThatMayDoNothingElse(t *testing.T) {
	f := open(t)
	role, shop := f.login()
	enqueue := `select id from fenceline.enqueue('report', '{"order": 7}', key => 'order-7', tags => '{a,b}')`
	if _, err := shop.Exec(f.ctx, enqueue); code(err) != "42501" {
		t.Fatalf("without any grant: %v", err)
	}
	f.exec("grant usage on schema fenceline to " + role)
	if _, err := shop.Exec(f.ctx, enqueue); code(err) != "42501" {
		t.Fatalf("without the right to execute: %v", err)
	}
	f.exec("grant execute on function fenceline.enqueue to " + role)
	var id int64
	if err := shop.QueryRow(f.ctx, enqueue).Scan(&id); err != nil {
		t.Fatal(err)
	}
	if j := f.job(id); j.Key != "order-7" || j.EnqueuedBy != "sql:"+role || !slices.Equal(j.Tags, []string{"a", "b"}) {
		t.Errorf("%+v", j)
	}
	for _, other := range []string{
		"select id from fenceline.jobs",
		"select id from fenceline.transitions",
		"select id from fenceline.audit",
		"select job_id from fenceline.attempt_errors",
		"insert into fenceline.jobs (kind) values ('report')",
		"update fenceline.jobs set state = 'completed'",
		"delete from fenceline.jobs",
		"insert into fenceline.transitions (job_id, type, kind, queue) values (1, 'completed', 'k', 'q')",
		"insert into fenceline.audit (actor, action, outcome) values ('x', 'x', 'x')",
		"select nextval('fenceline.jobs_id_seq')",
		"select nextval('fenceline.transition_id')",
		"select fenceline.ensure_partitions(1)",
		"create table fenceline.mine (id int)",
		"set role " + store.RuntimeRole,
	} {
		if _, err := shop.Exec(f.ctx, other); code(err) != "42501" {
			t.Errorf("%s: %v, want permission denied", other, err)
		}
	}
	f.consistent()
}

func TestTheSQLFunctionCannotBeMisledByTheCallersOwnObjects(t *testing.T) {
	f := open(t)
	role, shop := f.login()
	f.exec("grant usage on schema fenceline to " + role)
	f.exec("grant execute on function fenceline.enqueue to " + role)
	for _, sql := range []string{
		"create function pg_temp.sha256(bytea) returns bytea language sql as $$ select 'mine'::bytea $$",
		"create function pg_temp.octet_length(text) returns integer language sql as $$ select 0 $$",
		"create temporary table jobs (id bigint)",
		"set search_path = pg_temp, pg_catalog",
		"set standard_conforming_strings = off",
	} {
		if _, err := shop.Exec(f.ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	var id int64
	if err := shop.QueryRow(f.ctx, "select id from fenceline.enqueue('report', key => 'march')").Scan(&id); err != nil {
		t.Fatal(err)
	}
	if got := value[int](f, "select octet_length(request_hash) from fenceline.jobs where id = $1", id); got != 32 {
		t.Errorf("the request's hash has %d bytes", got)
	}
	if _, err := shop.Exec(f.ctx, "select * from fenceline.enqueue(repeat('x', 2000))"); code(err) != "FL422" {
		t.Errorf("a kind of 2000 bytes: %v", err)
	}
}

func TestTheSQLFunctionCanBeToldToWakeNobody(t *testing.T) {
	f := open(t)
	ears := f.listener()
	f.exec("select * from fenceline.enqueue('report', notify => false)")
	if got := f.heard(ears); len(got) != 0 {
		t.Errorf("heard %v", got)
	}
	f.exec("select * from fenceline.enqueue('report')")
	if got := f.heard(ears); len(got) != 2 {
		t.Errorf("heard %v, want the transaction and the work", got)
	}
	f.exec("select * from fenceline.enqueue('report', run_at => now() + interval '1 hour')")
	if got := f.heard(ears); len(got) != 1 || strings.HasPrefix(got[0], store.ChannelWork) {
		t.Errorf("heard %v of a scheduled job, want only the transaction", got)
	}
	f.consistent()
}
