package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestWhatFailedTwiceTheSameWayIsSaidOnce(t *testing.T) {
	t.Parallel()
	err := errors.New("connect to the database:\n\t127.0.0.1:9: connection refused\n\t127.0.0.1:9: connection refused\n\t[::1]:9: connection refused")
	same(t, "the sentence", oneSentence(err), "connect to the database: 127.0.0.1:9: connection refused; [::1]:9: connection refused")
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
