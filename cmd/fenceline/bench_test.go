package main

import (
	"encoding/json"
	"testing"
)

func TestBenchMeasuresOnADatabaseOfItsOwnAndDropsIt(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	v := runWith(t, onDB(db), "", "bench", "--jobs", "1500", "--json").wants(t, exitOK).object(t)
	same(t, "jobs", v["jobs"], 1500)
	same(t, "verify_ok", v["verify_ok"], true)
	for _, field := range []string{"enqueue_per_s", "work_per_s"} {
		if n, _ := v[field].(json.Number).Float64(); n <= 0 {
			t.Errorf("%s is %v", field, v[field])
		}
	}
	same(t, "jobs in the database that was given", query[int](t, db, `select count(*) from fenceline.jobs`), 0)
	same(t, "databases left", query[int](t, db, `select count(*) from pg_database where datname like 'fenceline\_bench\_%'
		and not exists (select from pg_stat_activity a where a.datname = pg_database.datname)`), 0)
}
