package store_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

func TestThreeMigratorsAtOnceMakeOneSchemaAndALaterOneChangesNothing(t *testing.T) {
	t.Parallel()
	f := &fixture{t: t, ctx: t.Context(), url: storetest.URL(t)}
	f.owner = f.connect()
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			if err := store.Migrate(f.ctx, f.url); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	// Everything that a migration could change, with the transaction that last
	// changed it.
	made := func() string {
		return value[string](f, `select string_agg(c.relname || ' ' || c.xmin || ' ' || c.oid, ',' order by c.oid) from pg_class c where c.relnamespace = 'fenceline'::regnamespace`) +
			value[string](f, `select string_agg(version_id || ' ' || xmin || ' ' || tstamp, ',' order by version_id) from fenceline.schema_version`)
	}
	before := made()
	if n := value[int](f, "select count(*) - count(distinct version_id) from fenceline.schema_version"); n != 0 {
		t.Errorf("%d migrations ran twice", n)
	}
	if err := store.Migrate(f.ctx, f.url); err != nil {
		t.Fatal(err)
	}
	if after := made(); after != before {
		t.Errorf("the second run changed\n%s\nto\n%s", before, after)
	}
	f.Store = storetest.Open(t, store.Config{URL: f.url})
	f.wholeLife()
}

func TestDatabasesOfOneServerMigrateAtOnce(t *testing.T) {
	t.Parallel()
	var wait sync.WaitGroup
	for range 3 {
		f, _ := tenant(t)
		wait.Go(func() {
			if err := store.Migrate(f.ctx, f.url); err != nil {
				t.Error(err)
				return
			}
			s, err := store.Open(f.ctx, store.Config{URL: f.url})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			all, _ := s.Pools()
			var acting string
			if err := all.QueryRow(f.ctx, "select current_user").Scan(&acting); err != nil || acting != store.RuntimeRole {
				t.Errorf("acts as %s, %v", acting, err)
			}
		})
	}
	wait.Wait()
}

func TestASchemaThatDoesNotFitIsRefusedWithWhatToDo(t *testing.T) {
	f := open(t)
	newest := value[int](f, "select max(version_id) from "+store.VersionTable)
	for _, c := range []struct {
		name, sql, tells string
	}{
		{"older", fmt.Sprintf("delete from %s where version_id = %d", store.VersionTable, newest), "run `fenceline migrate`"},
		{"newer", fmt.Sprintf("insert into %[1]s (version_id, is_applied) values (%[2]d, true), (%[3]d, true); update fenceline.compatibility set oldest = %[3]d", store.VersionTable, newest, newest+1), "use a newer program"},
		{"without any", "drop schema fenceline cascade", "run `fenceline migrate`"},
	} {
		f.exec(c.sql)
		s, err := store.Open(f.ctx, store.Config{URL: f.url})
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), c.tells) {
			t.Errorf("a schema %s: %v", c.name, err)
		}
		if c.name != "without any" && !strings.Contains(err.Error(), fmt.Sprint(newest)) {
			t.Errorf("the version is not named: %v", err)
		}
	}
	if err := store.Migrate(f.ctx, f.url); err != nil {
		t.Fatal(err)
	}
	storetest.Open(t, store.Config{URL: f.url})
}

func TestAnAddressThatLeadsNowhereIsAClearErrorWithoutThePassword(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://me:hush-hush@localhost:1/none?connect_timeout=2",
		"postgres://me:hush-hush@[::1",
		"nonsense",
	} {
		_, opening := store.Open(t.Context(), store.Config{URL: address})
		for name, err := range map[string]error{"open": opening, "migrate": store.Migrate(t.Context(), address)} {
			if err == nil || strings.Contains(err.Error(), "hush-hush") || !strings.Contains(err.Error(), "database") {
				t.Errorf("%s %s: %v", name, address, err)
			}
		}
	}
}
