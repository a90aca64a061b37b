package doctor_test

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/doctor"
	"github.com/fenceline/fenceline/store/storetest"
)

func TestADatabaseThatDoesNotAnswerIsOneFailedCheck(t *testing.T) {
	r := doctor.Examine(t.Context(), doctor.Config{URL: "postgres://nobody:secret@127.0.0.1:1/nowhere"})
	if r.OK || len(r.Findings) != 1 || strings.Contains(r.Findings[0].Seen, "secret") {
		t.Errorf("%+v", r)
	}
	is(t, find(t, r, "reachable"), doctor.Fail)
}

func TestAFreshDatabaseOnATestServerFailsNothingButTheTestServersOwnSettings(t *testing.T) {
	p := healthy(t)
	r := doctor.Examine(t.Context(), doctor.Config{URL: p.url})
	for _, f := range r.Findings {
		want := doctor.OK
		if f.Check == "fsync" || f.Check == "full_page_writes" {
			want = doctor.Fail // the tests' server is fast, not durable
		}
		is(t, f, want)
	}
	if r.OK || r.Failed != 2 || r.Warned != 0 {
		t.Errorf("%+v", r)
	}
}

func TestASchemaThatDoesNotFitFails(t *testing.T) {
	empty := admit(t, storetest.URL(t))
	is(t, empty.examine("schema_version", doctor.Limits{}), doctor.Fail)
	for _, check := range []string{"dead_rows", "bloat", "partitions"} {
		is(t, empty.examine(check, doctor.Limits{}), doctor.Warn)
	}
	p := healthy(t)
	p.exec("delete from fenceline.schema_version where version_id = (select max(version_id) from fenceline.schema_version)")
	is(t, p.examine("schema_version", doctor.Limits{}), doctor.Fail)
}

func TestARoleThatMayNotActAsTheRuntimeRoleFails(t *testing.T) {
	p := healthy(t)
	role := "stranger_" + strings.ToLower(rand.Text()[:8])
	p.exec("create role " + role + " login")
	defer p.exec("drop role " + role)
	u, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	r := doctor.Examine(t.Context(), doctor.Config{URL: u.String(), OwnerURL: p.url})
	f := find(t, r, "runtime_role")
	is(t, f, doctor.Fail)
	if want := "grant " + store.RuntimeRole + " to " + role; !strings.Contains(f.Advice, want) {
		t.Errorf("the advice is %q, not %q", f.Advice, want)
	}
	// The same role alone sees little, and says so instead of passing.
	r = doctor.Examine(t.Context(), doctor.Config{URL: u.String()})
	f = find(t, r, "visibility")
	is(t, f, doctor.Warn)
	if want := "Grant pg_monitor to " + role; !strings.Contains(f.Advice, want) {
		t.Errorf("the advice is %q, not %q", f.Advice, want)
	}
	is(t, find(t, r, "partitions"), doctor.Warn)
}

func TestSettingsOfTheRoleOrTheDatabaseAreSeen(t *testing.T) {
	p := healthy(t)
	set := func(what string) {
		t.Helper()
		p.exec(fmt.Sprintf(`do $$ begin execute format('alter database %%I %s', current_database()); end $$`, what))
	}
	set("connection limit 12")
	is(t, p.examine("connections", doctor.Limits{}), doctor.Warn)
	set("connection limit -1")
	is(t, p.examine("connections", doctor.Limits{}), doctor.OK)
	set("set synchronous_commit = off")
	is(t, p.examine("synchronous_commit", doctor.Limits{}), doctor.Warn)
	set("set idle_session_timeout = 60000")
	is(t, p.examine("timeouts", doctor.Limits{}), doctor.Warn)
	set("set default_transaction_read_only = on")
	is(t, p.examine("read_only", doctor.Limits{}), doctor.Fail)
}

func TestAConnectionLimitThatLeavesNothingFails(t *testing.T) {
	p := healthy(t)
	// The superuser who examines is not bound by it; the count is.
	p.exec(`do $$ begin execute format('alter database %I connection limit 3', current_database()); end $$`)
	is(t, p.examine("connections", doctor.Limits{}), doctor.Fail)
}

func TestAVacuumThatIsSwitchedOffForATableFails(t *testing.T) {
	p := healthy(t)
	p.exec("alter table fenceline.jobs set (autovacuum_enabled = off)")
	f := p.examine("autovacuum", doctor.Limits{})
	is(t, f, doctor.Fail)
	if !strings.Contains(f.Seen, "jobs") {
		t.Errorf("the table is not named: %s", f.Seen)
	}
}

func TestAnOldTransactionAndItsSnapshotAreNamed(t *testing.T) {
	p := healthy(t)
	holder := session(t, p.url)
	exec(t, holder, "begin isolation level repeatable read")
	exec(t, holder, "select pg_current_xact_id()")
	p.exec("create table public.burn as select pg_current_xact_id() as x")
	p.exec("insert into public.burn select pg_current_xact_id()")
	pid := fmt.Sprint(holder.PgConn().PID())
	for check, limits := range map[string][2]doctor.Limits{
		"oldest_transaction": {
			{TransactionWarn: time.Nanosecond, TransactionFail: time.Hour}, {TransactionFail: time.Nanosecond}},
		"oldest_snapshot": {{HorizonWarn: 1}, {HorizonFail: 1}},
	} {
		// What another test's database is made in may be older, for a moment.
		storetest.Await(t, check+" names process "+pid, func() bool {
			f := p.examine(check, limits[0])
			is(t, f, doctor.Warn)
			return strings.Contains(f.Seen, pid)
		})
		is(t, p.examine(check, limits[1]), doctor.Fail)
		is(t, p.examine(check, doctor.Limits{}), doctor.OK)
	}
}

func TestAForgottenPreparedTransactionFails(t *testing.T) {
	p := healthy(t)
	gid := "forgotten_" + rand.Text()[:8]
	p.exec("begin")
	p.exec("create table public.t ()")
	p.exec("prepare transaction '" + gid + "'")
	defer p.exec("rollback prepared '" + gid + "'")
	is(t, p.examine("prepared_transactions", doctor.Limits{PreparedWarn: time.Nanosecond, PreparedFail: time.Hour}), doctor.Warn)
	is(t, p.examine("prepared_transactions", doctor.Limits{PreparedFail: time.Nanosecond}), doctor.Fail)
	is(t, p.examine("prepared_transactions", doctor.Limits{}), doctor.OK)
}

func TestAListenerThatSitsInATransactionFillsTheQueue(t *testing.T) {
	p := healthy(t)
	stuck := session(t, p.url)
	exec(t, stuck, "listen something")
	exec(t, stuck, "begin")
	exec(t, stuck, "select 1")
	p.exec("select pg_notify('something', repeat('x', 7000) || n) from generate_series(1, 500) n")
	f := p.examine("notify_queue", doctor.Limits{QueueWarn: 0.00001, QueueFail: 0.9})
	is(t, f, doctor.Warn)
	is(t, p.examine("notify_queue", doctor.Limits{QueueFail: 0.00001}), doctor.Fail)
	is(t, p.examine("notify_queue", doctor.Limits{}), doctor.OK)
}

func TestClocksThatDisagreeAreTold(t *testing.T) {
	p := healthy(t)
	for off, want := range map[time.Duration]doctor.Status{
		0: doctor.OK, 10 * time.Second: doctor.Warn, -10 * time.Minute: doctor.Fail, 10 * time.Minute: doctor.Fail,
	} {
		r := doctor.Examine(t.Context(), doctor.Config{URL: p.url, Now: func() time.Time { return time.Now().Add(off) },
			Limits: doctor.Limits{ClockWarn: 5 * time.Second}})
		f := find(t, r, "clock")
		is(t, f, want)
		if off > 5*time.Second && !strings.Contains(f.Seen, "behind") || off < 0 && !strings.Contains(f.Seen, "ahead of") {
			t.Errorf("off by %s: %s", off, f.Seen)
		}
	}
}

func TestDeadRowsAndWasteAreSeen(t *testing.T) {
	p := healthy(t)
	p.exec("alter table fenceline.jobs set (autovacuum_enabled = off)")
	p.exec("insert into fenceline.jobs (kind, args) select 'x', '{}' from generate_series(1, 4000)")
	p.exec("delete from fenceline.jobs where id % 40 <> 0")
	limits := doctor.Limits{DeadRows: 100, BloatBytes: 1}
	deadline := time.Now().Add(patience)
	for f := (doctor.Finding{}); f.Status != doctor.Fail; {
		// Counts of dead rows arrive with the session's next report.
		p.exec("select 1")
		if f = p.examine("dead_rows", limits); time.Now().After(deadline) {
			t.Fatalf("97%% of the rows are dead: %+v", f)
		}
	}
	is(t, p.examine("dead_rows", doctor.Limits{}), doctor.OK)
	// The last page still holds rows, so the emptied ones before it stay.
	p.exec("vacuum (analyze, truncate false) fenceline.jobs")
	is(t, p.examine("bloat", limits), doctor.Fail)
	is(t, p.examine("bloat", doctor.Limits{}), doctor.OK)
}

func TestPartitionsThatAreMissingFail(t *testing.T) {
	p := healthy(t)
	drop := func(after string) {
		t.Helper()
		p.exec(`do $$ declare day text; begin
			for day in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
			  where i.inhparent = 'fenceline.transitions'::regclass
			    and c.relname > 'transitions_' || to_char((now() at time zone 'utc') + interval '` + after + `', 'YYYYMMDD') and c.relname ~ '\d{8}$'
			loop execute format('drop table fenceline.%I', day); end loop; end $$`)
	}
	drop("1 day")
	is(t, p.examine("partitions", doctor.Limits{}), doctor.Warn)
	drop("-2 days")
	is(t, p.examine("partitions", doctor.Limits{}), doctor.Fail)
	p = healthy(t)
	p.exec("insert into fenceline.transitions (job_id, at, type, kind, queue) values (1, '2001-01-01', 'baseline', 'x', 'x')")
	is(t, p.examine("partitions", doctor.Limits{}), doctor.Warn)
}

func TestASlotThatNobodyReadsIsTold(t *testing.T) {
	p := healthy(t)
	slot := "unread_" + strings.ToLower(rand.Text()[:8])
	p.exec("select pg_create_physical_replication_slot('" + slot + "', true)")
	defer p.exec("select pg_drop_replication_slot('" + slot + "')")
	p.exec("create table public.wal as select repeat('x', 1000) from generate_series(1, 100)")
	f := p.examine("replication_slots", doctor.Limits{WALWarn: 1, WALFail: 1 << 40})
	is(t, f, doctor.Warn)
	if !strings.Contains(f.Seen, slot) {
		t.Errorf("the slot is not named: %s", f.Seen)
	}
	is(t, p.examine("replication_slots", doctor.Limits{WALFail: 1}), doctor.Fail)
	is(t, p.examine("replication_slots", doctor.Limits{}), doctor.OK)
}
