package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/embedded"
)

// What the process exits with.
const (
	exitOK      = 0
	exitRefused = 1 // what was asked for was refused, failed, or found to be wrong
	exitUsage   = 2 // the command line or the environment says something that cannot be
)

type streams struct {
	in       io.Reader
	out, err io.Writer
}

// app is what every verb gets.
type app struct {
	streams
	json bool
	log  *slog.Logger
}

// usageError is an error of the command line, found after parsing it.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// named puts the flag's name in place of the field's.
func named(err error) error {
	var invalid *store.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	name := strings.ReplaceAll(invalid.Field, "_", "-")
	switch {
	case strings.HasPrefix(name, "tags"):
		name = "tag"
	case name == "q":
		name = "search"
	case name == "jobs":
		name = "job"
	}
	if invalid.Field == "kind" {
		return usagef("KIND: %s", invalid.Message)
	}
	return usagef("--%s: %s", name, invalid.Message)
}

// errSaid ends the process with exitRefused: what there is to say has been said.
var errSaid = errors.New("")

// exited is how kong ends the process, after it printed a help text.
type exited int

// run is the whole program: it parses, runs a verb, says what went wrong and
// returns the exit code.
func run(ctx context.Context, args []string, io streams) (code int) {
	out := &stdout{to: io.out}
	io.out = out
	defer func() {
		switch e := recover().(type) {
		case nil:
		case exited:
			code = int(e)
		default:
			panic(e) // a fault must not end as if all were done
		}
		if err := out.failed(); err != nil {
			if code == exitOK {
				fmt.Fprintln(io.err, "fenceline:", err)
			}
			code = exitRefused
		}
	}()
	var c cli
	parser, err := newParser(&c, io)
	if err != nil {
		fmt.Fprintln(io.err, "fenceline:", err)
		return exitUsage
	}
	if len(args) == 0 {
		args = []string{"help"}
	}
	if args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	if err := checkText(args); err != nil {
		return report(parser, &c, io, err)
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return report(parser, &c, io, usageError{err})
	}
	a := &app{streams: io, json: c.JSON, log: c.logger(io.err, parsed.Command())}
	warnOfUnknown(a.log, parser.Model, os.Environ())
	parsed.BindTo(ctx, (*context.Context)(nil))
	return report(parser, &c, io, stopped(ctx, parsed.Run(a)))
}

// stopped says by which signal a verb was ended where its error only says that it
// was.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) || errors.Is(err, errSaid) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), context.Canceled.Error(), context.Cause(ctx).Error()))
}

// checkText refuses what the parser would quietly replace.
func checkText(args []string) error {
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			return usagef("argument %d, %q, is not UTF-8", i+1, arg)
		}
	}
	return nil
}

func newParser(c *cli, io streams) (*kong.Kong, error) {
	return kong.New(c,
		kong.Name("fenceline"),
		kong.Description("Background jobs on PostgreSQL, under leases that are enforced where the write happens."),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Writers(io.out, io.err),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ShortUsageOnError(),
	)
}

// report says what went wrong, once, and returns the exit code.
func report(parser *kong.Kong, c *cli, io streams, err error) int {
	if err == nil {
		return exitOK
	}
	var usage usageError
	isUsage := errors.As(err, &usage)
	if !errors.Is(err, errSaid) {
		if !c.JSON && c.LogLevel != "debug" {
			err = plain{err}
		}
		// It may quote an argument, a file or a server.
		fmt.Fprintln(io.err, "fenceline:", paragraph(withoutSecrets(parser, oneSentence(err))))
	}
	if isUsage {
		return exitUsage
	}
	return exitRefused
}

// plain is an error as people are told it, see [store.Plainly].
type plain struct{ error }

func (p plain) Error() string { return store.Plainly(p.error) }
func (p plain) Unwrap() error { return p.error }

// oneSentence joins the lines of an error, such as one for each address of a
// host. What a database server said last stays as it was said.
func oneSentence(err error) string {
	text := err.Error()
	if errors.Is(err, embedded.ErrDiskFull) || strings.Contains(text, "database server") {
		return text
	}
	// A host that is tried with and without encryption fails twice the same way.
	text = strings.Join(slices.Compact(strings.Split(text, "\n\t")), "\n\t")
	text = strings.ReplaceAll(text, ":\n\t", ": ")
	return strings.ReplaceAll(strings.ReplaceAll(text, "\n\t", "; "), "\n", "; ")
}

// actor is who acts, in transitions and in the audit: the user of this machine.
func actor() string {
	if u, err := user.Current(); err == nil && u.Username != "" && len(u.Username) < 200 {
		return "cli:" + u.Username
	}
	return "cli"
}
