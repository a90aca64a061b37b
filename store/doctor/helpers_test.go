package doctor_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store/doctor"
	"github.com/fenceline/fenceline/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m, storetest.NoLeaks) }

const patience = 60 * time.Second

// patient is a database to be examined, with its owner's session.
type patient struct {
	t    *testing.T
	url  string
	conn *pgx.Conn
}

func admit(t *testing.T, url string) *patient {
	t.Helper()
	return &patient{t, url, session(t, url)}
}

// healthy is a migrated database of the test's own.
func healthy(t *testing.T) *patient {
	t.Helper()
	return admit(t, storetest.OwnerURL(t))
}

func session(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func (p *patient) exec(sql string, args ...any) { p.t.Helper(); exec(p.t, p.conn, sql, args...) }

// examine looks again at one check.
func (p *patient) examine(check string, limits doctor.Limits) doctor.Finding {
	p.t.Helper()
	return find(p.t, doctor.Examine(p.t.Context(), doctor.Config{URL: p.url, Limits: limits}), check)
}

func find(t *testing.T, r doctor.Report, check string) doctor.Finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.Check == check {
			return f
		}
	}
	t.Fatalf("no check is called %s: %+v", check, r)
	return doctor.Finding{}
}

// is wants a status, and advice exactly when there is something to do.
func is(t *testing.T, f doctor.Finding, want doctor.Status) {
	t.Helper()
	if f.Status != want || f.Seen == "" || (f.Advice == "") != (want == doctor.OK) {
		t.Errorf("want %s: %+v", want, f)
	}
}
