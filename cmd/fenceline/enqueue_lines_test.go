package main

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestTwoLinesThatContradictEachOtherAreBothNamed(t *testing.T) {
	t.Parallel()
	in := "\n" + `{"kind":"a","key":"k"}` + "\n\n" + `{"kind":"a","key":"k","args":1}`
	runWith(t, onDB(migrated(t)), in, "enqueue", "--ndjson", "--atomic").
		complains(t, exitRefused, "line 4: key: is also that of line 2, ", "nothing was stored")
}

func TestWhatTheDatabaseRefusedIsNotSaidToBePerhapsStored(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	conn, err := pgx.Connect(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), `create function public.full() returns trigger language plpgsql as $$
		begin raise exception 'no space' using errcode = '53100'; end $$;
		create trigger full_disk before insert on fenceline.jobs for each row execute function public.full()`)
	if err != nil {
		t.Fatal(err)
	}
	r := runWith(t, onDB(db), `{"kind":"a"}`, "enqueue", "--ndjson")
	r.complains(t, exitRefused, "no space", "nothing was stored")
	if strings.Contains(r.err, "may be stored") {
		t.Errorf("it said %s", r.err)
	}
}
