package main

import (
	"context"
	"fmt"
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

// same compares what people and programs read.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
