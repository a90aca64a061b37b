package metrics_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// cutListener ends the session that listens for work.
func cutListener(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	tag, err := conn.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and pid <> pg_backend_pid() and query ilike 'listen%'`)
	if err != nil || tag.RowsAffected() == 0 {
		t.Fatalf("%d listeners were ended: %v", tag.RowsAffected(), err)
	}
}
