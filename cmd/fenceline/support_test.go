package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// migrated is the address of a database of the test's own.
func migrated(t *testing.T) string { return storetest.OwnerURL(t) }

// emptyDatabase is the address of one without a schema.
func emptyDatabase(t *testing.T) string { return storetest.URL(t) }

// query reads one value from the database, behind the program's back.
func query[T any](t *testing.T, url, sql string, args ...any) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var v T
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// openStore opens a store beside the program.
func openStore(t *testing.T, url string) *store.Store {
	t.Helper()
	return storetest.Open(t, store.Config{URL: url})
}

// asRole is the address of the same database for a role without rights of its
// own but to use Fenceline once it is migrated.
func asRole(t *testing.T, db, role string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	role += "_" + strings.ToLower(rand.Text()[:8])
	for _, sql := range []string{
		`do $$ begin create role fenceline_runtime login; exception when duplicate_object or unique_violation then null; end $$`,
		`create role ` + role + ` login in role fenceline_runtime`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), db)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), `drop role `+role); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(db)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}

// same compares what people and programs read.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
