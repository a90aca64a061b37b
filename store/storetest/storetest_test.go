package storetest_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m, storetest.NoLeaks) }

func TestEachTestHasAnEmptyDatabaseOfItsOwn(t *testing.T) {
	for range 3 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			conn, err := pgx.Connect(ctx, storetest.URL(t))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(ctx)
			if _, err := conn.Exec(ctx, `create table mine ()`); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestANewStoreActsAsTheRuntimeRoleOnAMigratedDatabase(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, url := storetest.NewWithURL(t)
	conn, err := pgx.ConnectConfig(ctx, s.ListenConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var acting, database string
	if err := conn.QueryRow(ctx, `select current_user, current_database()`).Scan(&acting, &database); err != nil {
		t.Fatal(err)
	}
	if acting != store.RuntimeRole {
		t.Errorf("the store acts as %s, not as %s", acting, store.RuntimeRole)
	}
	owner, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close(ctx)
	var jobs int
	if err := owner.QueryRow(ctx, `select count(*) from fenceline.jobs`).Scan(&jobs); err != nil {
		t.Fatal(err)
	}
	if jobs != 0 || owner.Config().Database != database {
		t.Errorf("the owner's address leads to %s with %d jobs, not to the empty %s", owner.Config().Database, jobs, database)
	}
}

func TestAStoresDatabaseIsDroppedWithItsTest(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var url string
	t.Run("", func(t *testing.T) { _, url = storetest.NewWithURL(t) })
	conn, err := pgx.Connect(ctx, url)
	if err == nil {
		conn.Close(ctx)
		t.Error("the database is still there")
	}
}
