package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fenceline/fenceline/store"
)

func TestWhatFailedTwiceTheSameWayIsSaidOnce(t *testing.T) {
	t.Parallel()
	err := errors.New("connect to the database:\n\t127.0.0.1:9: connection refused\n\t127.0.0.1:9: connection refused\n\t[::1]:9: connection refused")
	same(t, "the sentence", oneSentence(err), "connect to the database: 127.0.0.1:9: connection refused; [::1]:9: connection refused")
}

func TestADatabaseThatCannotBeUsedIsToldInASentence(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	at, err := pgconn.ParseConfig(db)
	if err != nil {
		t.Fatal(err)
	}
	_, address := pgconn.NetworkAddress(at.Host, at.Port)
	elsewhere := strings.Replace(db, at.Database, "nowhere", 1)
	for _, c := range []struct{ url, says string }{
		{"postgres://127.0.0.1:1/x", "connect to the database: no server listens at 127.0.0.1:1: connection refused"},
		{"postgres://me@/x?host=/does/not/exist&port=7", "connect to the database: no server listens at /does/not/exist/.s.PGSQL.7"},
		{"postgres://no-such-host.invalid/x", "connect to the database: the host no-such-host.invalid is not known"},
		{elsewhere, "connect to the database: there is no database nowhere at " + address},
	} {
		r := runWith(t, onDB(c.url), "", "jobs", "list")
		r.complains(t, exitRefused)
		same(t, "the sentence", r.err, "fenceline: "+c.says+"\n")
	}
	runWith(t, onDB(elsewhere), "", "jobs", "list", "--json").complains(t, exitRefused, "(SQLSTATE 3D000)")
	for code, says := range map[string]string{
		"25006": "store a job: the server is read-only: it is a standby, or was set so",
		"42501": "store a job: permission denied for table jobs",
		"XX000": "store a job: ERROR: permission denied for table jobs (SQLSTATE XX000)",
	} {
		same(t, code, store.Plainly(fmt.Errorf("store a job: %w", &pgconn.PgError{Severity: "ERROR", Code: code, Message: "permission denied for table jobs"})), says)
	}
}

func TestWhoMayNotMakeRolesIsToldWhichOneIsMissing(t *testing.T) {
	t.Parallel()
	for routine, want := range map[string]string{
		"CreateRole":     "create role fenceline_runtime; grant fenceline_runtime to",
		"aclcheck_error": "--owner-database-url",
	} {
		err := aboutOwner(fmt.Errorf("migrate: %w", &pgconn.PgError{Code: "42501", Message: "permission denied", Routine: routine}))
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is told as %q, without %q", routine, err, want)
		}
	}
	other := errors.New("connection refused")
	same(t, "another failure", aboutOwner(other), other)
}

// full is an output that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// broken is an output with a fault in it.
type broken struct{}

func (broken) Write([]byte) (int, error) { panic("a fault") }

func TestWhatCouldNotBePrintedIsNoSuccessAndNoMistakeOfTheCommandLine(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"help"}, {"--help"}, {"jobs", "list", "--help"}, {"version"}, {"--version"}, {"version", "--json"}} {
		var errs strings.Builder
		if code := run(t.Context(), args, streams{strings.NewReader(""), full{}, &errs}); code != exitRefused || errs.String() != "fenceline: no space left on device\n" {
			t.Errorf("%q exits with %d: %s", args, code, errs.String())
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a fault ends as if all were done")
		}
	}()
	run(t.Context(), []string{"version"}, streams{strings.NewReader(""), broken{}, io.Discard})
}

func TestThingsAreCountedInWordsThatFit(t *testing.T) {
	t.Parallel()
	same(t, "the words", []string{counted(0, "job"), counted(1, "job"), counted(2, "job")}, []string{"0 jobs", "1 job", "2 jobs"})
}

func TestAVerbThatASignalEndedNamesTheSignal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	reading := fmt.Errorf("read the audit: %w", context.Canceled)
	same(t, "an end that nobody asked for", stopped(ctx, reading), reading)
	cancel(errors.New("interrupt signal received"))
	same(t, "the sentence", stopped(ctx, reading).Error(), "read the audit: interrupt signal received")
	same(t, "what was said already", stopped(ctx, errors.Join(errSaid, reading)).Error(), errors.Join(errSaid, reading).Error())
	same(t, "nothing", stopped(ctx, nil), nil)
}
