package store_test

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// runtime is a session with the store's own settings and role.
func (f *fixture) runtime() *pgx.Conn {
	f.t.Helper()
	conn, err := pgx.ConnectConfig(f.ctx, f.ListenConfig())
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func TestTheRuntimeRoleMayNeitherRewriteTheLogNorLoseAJob(t *testing.T) {
	f := open(t)
	f.cast()
	f.exec("create table public.mine (id int)")
	conn := f.runtime()
	before := f.verify()
	for _, refused := range []string{
		"update fenceline.transitions set reason = 'x'",
		"update fenceline.transitions_rest set reason = 'x'",
		"delete from fenceline.transitions",
		"truncate fenceline.transitions",
		"update fenceline.audit set actor = 'x'",
		"delete from fenceline.audit",
		"truncate fenceline.audit",
		"update fenceline.attempt_errors set message = 'x'",
		"delete from fenceline.attempt_errors",
		"update fenceline.attempt_outputs set output = 'x'",
		"delete from fenceline.unknown_writes",
		"delete from fenceline.jobs",
		"truncate fenceline.jobs",
		"drop table fenceline.jobs",
		"alter table fenceline.jobs add column x int",
		"alter table fenceline.jobs disable trigger all",
		"create table fenceline.x (id int)",
		"create table x (id int)",
		"create function fenceline.x() returns int language sql as 'select 1'",
		"create schema x",
		"select setval('fenceline.transition_id', 1)",
		"update fenceline.schema_version set version_id = 0",
		"delete from fenceline.schema_version",
		"select * from public.mine",
		"create role x",
		"alter role fenceline_runtime superuser",
	} {
		if _, err := conn.Exec(f.ctx, refused); code(err) != "42501" {
			t.Errorf("%s: %v, want permission denied", refused, err)
		}
	}
	for _, day := range value[[]string](f, "select array_agg(relname::text) from pg_inherits join pg_class c on c.oid = inhrelid where inhparent = 'fenceline.transitions'::regclass") {
		if _, err := conn.Exec(f.ctx, "delete from fenceline."+day); code(err) != "42501" {
			t.Errorf("delete from %s: %v, want permission denied", day, err)
		}
	}
	if after := f.verify(); !after.OK || after.Transitions != before.Transitions || after.Jobs != before.Jobs {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

func TestAStoreActsAsTheRuntimeRoleOnEveryConnection(t *testing.T) {
	f := open(t)
	all, renewals := f.Pools()
	for name, pool := range map[string]interface {
		QueryRow(context.Context, string, ...any) pgx.Row
	}{"the verbs'": all, "the renewals'": renewals, "the listener's": f.runtime()} {
		var role string
		var super bool
		err := pool.QueryRow(f.ctx, "select current_user, (select rolsuper from pg_roles where rolname = current_user)").Scan(&role, &super)
		if err != nil || role != store.RuntimeRole || super {
			t.Errorf("%s connection acts as %s (superuser %v), %v", name, role, super, err)
		}
	}
	// The role may also be the one that logs in: then nothing more is needed.
	direct := storetest.Open(t, store.Config{URL: as(t, f.url, store.RuntimeRole)})
	if out, err := direct.Enqueue(f.ctx, store.Request{Kind: "report"}); err != nil || out.ID == 0 {
		t.Errorf("%+v %v", out, err)
	}
	if _, err := direct.EnsurePartitions(f.ctx); err != nil {
		t.Errorf("partitions: %v", err)
	}
}

func TestALoginWithoutTheRoleIsToldSo(t *testing.T) {
	f := open(t)
	role, _ := f.login()
	s, err := store.Open(f.ctx, store.Config{URL: as(t, f.url, role)})
	if err == nil {
		s.Close()
		t.Fatal("a role without any right opened a store")
	}
	if code(err) != "42501" || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("got %v", err)
	}
	f.exec("grant fenceline_runtime to " + role)
	storetest.Open(t, store.Config{URL: as(t, f.url, role)})
}

// tenant makes a database that belongs to a role which may make roles, and is
// no superuser.
func tenant(t *testing.T) (owner, database *fixture) {
	t.Helper()
	f := &fixture{t: t, ctx: t.Context(), url: storetest.URL(t)}
	f.owner = f.connect()
	role := "tenant_" + strings.ToLower(rand.Text()[:12])
	f.exec("create role " + role + " login createrole")
	// From PostgreSQL 16 on, only an administrator can give what others made.
	f.exec(`do $$ begin
		if current_setting('server_version_num')::int >= 160000 and exists (select from pg_roles where rolname = 'fenceline_runtime') then
			execute 'grant fenceline_runtime to ` + role + `';
		end if; end $$`)
	f.exec("do $$ begin execute format('alter database %I owner to " + role + "', current_database()); end $$")
	t.Cleanup(func() {
		f.owner.Exec(context.Background(), "reassign owned by "+role+" to current_user; drop owned by "+role+" cascade; drop role "+role)
	})
	mine := &fixture{t: t, ctx: f.ctx, url: as(t, f.url, role)}
	mine.owner = mine.connect()
	return mine, f
}

func TestAnOwnerThatIsNoSuperuserMigratesAndRuns(t *testing.T) {
	t.Parallel()
	f, _ := tenant(t)
	if err := store.Migrate(f.ctx, f.url); err != nil {
		t.Fatal(err)
	}
	f.Store = storetest.Open(t, store.Config{URL: f.url})
	var acting string
	if err := f.runtime().QueryRow(f.ctx, "select current_user").Scan(&acting); err != nil || acting != store.RuntimeRole {
		t.Errorf("acts as %s, %v", acting, err)
	}
	f.wholeLife()
	if _, err := f.EnsurePartitions(f.ctx); err != nil {
		t.Error(err)
	}
	if r := f.verify(); !r.OK {
		t.Errorf("%+v", r)
	}
}

func TestAnOwnerOfTheSchemaAloneMigratesToo(t *testing.T) {
	t.Parallel()
	f := &fixture{t: t, ctx: t.Context(), url: storetest.URL(t)}
	f.owner = f.connect()
	role, _ := f.login()
	f.exec("alter role " + role + " createrole")
	f.exec("create schema fenceline authorization " + role)
	if err := store.Migrate(f.ctx, as(t, f.url, role)); err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(f.url)
	if got := value[string](f, "select nspowner::regrole::text from pg_namespace where nspname = 'fenceline'"); got != role {
		t.Errorf("the schema of %s belongs to %s", u.Path, got)
	}
}
