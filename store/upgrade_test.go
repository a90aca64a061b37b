package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

func TestAnOlderProgramWorksOnANewerSchemaThatSaysSo(t *testing.T) {
	f := open(t)
	f.exec("insert into fenceline.schema_version (version_id, is_applied) values (1000, true)")
	s := storetest.Open(t, store.Config{URL: f.url})
	if err := s.Ready(f.ctx); err != nil {
		t.Error(err)
	}
	f.exec("update fenceline.compatibility set oldest = 1000")
	for name, err := range map[string]error{"a running process": s.Ready(f.ctx), "one that starts": opened(f.ctx, f.url)} {
		if !errors.Is(err, store.ErrSchema) {
			t.Errorf("%s on a schema that does not support it: %v", name, err)
		}
	}
}

func opened(ctx context.Context, url string) error {
	s, err := store.Open(ctx, store.Config{URL: url})
	if err == nil {
		s.Close()
	}
	return err
}

// The schema goes down one step and up again with jobs in it, and nothing of
// them is lost or said twice.
func TestTheLastMigrationCanBeTakenBackAndMadeAgain(t *testing.T) {
	f := open(t)
	f.cast()
	before := f.verify()
	jobs := value[string](f, jobsSQL)
	if err := store.MigrateDown(f.ctx, f.url); err != nil {
		t.Fatal(err)
	}
	if err := opened(f.ctx, f.url); !errors.Is(err, store.ErrSchema) {
		t.Errorf("this program opens the schema before its own: %v", err)
	}
	if got := value[string](f, jobsSQL); got != jobs {
		t.Errorf("the jobs were\n%s\nand are\n%s", jobs, got)
	}
	if err := store.Migrate(f.ctx, f.url); err != nil {
		t.Fatal(err)
	}
	if after := f.verify(); !after.OK || after.Jobs != before.Jobs || after.Transitions != before.Transitions {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if err := opened(f.ctx, f.url); err != nil {
		t.Error(err)
	}
	f.cast()
	if after := f.verify(); !after.OK {
		t.Errorf("%+v", after)
	}
}

const jobsSQL = `select string_agg(concat_ws('|', id, state, generation, revision, attempt_id, attempt_end, result), e'\n' order by id) from fenceline.jobs`

// A migration that is not the last is taken back on the way down, with what it
// had kept, and made again.
func TestTheOperatorsVerbsCanBeTakenBackWithJobsThatUsedThem(t *testing.T) {
	f := open(t)
	id := f.in(store.Completed)
	if _, err := f.RequeueWith(f.ctx, f.seen(id), raw(`"other"`)); err != nil {
		t.Fatal(err)
	}
	f.operate(f.Note, id)
	f.operate(f.Terminate, id)
	f.operate(f.Erase, f.in(store.Discarded))
	jobs := value[string](f, jobsSQL)
	for value[int](f, "select max(version_id) from fenceline.schema_version") >= 15 {
		if err := store.MigrateDown(f.ctx, f.url); err != nil {
			t.Fatal(err)
		}
	}
	if got := value[string](f, jobsSQL); got != jobs || value[bool](f, "select to_regclass('fenceline.args_versions') is not null") {
		t.Errorf("the jobs were\n%s\nand are\n%s", jobs, got)
	}
	if err := store.Migrate(f.ctx, f.url); err != nil {
		t.Fatal(err)
	}
	id = f.in(store.Discarded)
	f.operate(f.Erase, id)
	if _, err := f.RequeueWith(f.ctx, f.seen(id), raw(`1`)); err != nil {
		t.Error(err)
	}
	_, h := f.history(id)
	if len(h.Violations)+len(h.Differences(f.job(id))) != 0 {
		t.Error(h.Violations, h.Differences(f.job(id)))
	}
}
