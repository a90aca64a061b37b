package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
	"github.com/fenceline/fenceline/web/access"
)

type userCmd struct {
	Add     userAddCmd     `cmd:"" help:"Add somebody who signs in with a password, which is asked for or read from standard input."`
	List    userListCmd    `cmd:"" help:"List everybody who may sign in."`
	Passwd  userPasswdCmd  `cmd:"" help:"Set a password, which is asked for or read from standard input, and sign its owner out everywhere."`
	Set     userSetCmd     `cmd:"" help:"Change what somebody may do, at once."`
	Disable userDisableCmd `cmd:"" help:"Keep somebody from signing in and from acting by tokens, and end their sessions; the account stays."`
	Enable  userEnableCmd  `cmd:"" help:"Let somebody sign in again, and their tokens act."`
	SignOut userSignOutCmd `cmd:"" help:"End somebody's sessions in all browsers."`
	Remove  userRemoveCmd  `cmd:"" help:"Take an account away with its sessions and tokens; what was recorded stays."`
}

// powers are what somebody may do.
type powers struct {
	Role   string   `name:"role" enum:"viewer,operator,admin" default:"viewer" help:"viewer looks, operator acts, admin has every right."`
	Rights []string `name:"right" placeholder:"RIGHT" help:"reveal shows payloads, bulk acts on many jobs at once. May be repeated; an admin has both."`
	Queues []string `name:"in-queue" placeholder:"NAME" help:"A queue in which they may act and see payloads; without one, in all. May be repeated."`
}

func (p powers) read() store.Powers {
	out := store.Powers{Role: store.Role(p.Role), Queues: p.Queues}
	for _, r := range p.Rights {
		out.Rights = append(out.Rights, store.Right(r))
	}
	return out
}

// aboutPerson names what was refused.
func aboutPerson(name string, err error) error {
	var invalid *store.InvalidError
	switch {
	case errors.Is(err, store.ErrNoPerson):
		return fmt.Errorf("there is nobody of the name %s who could be changed so; fenceline user list shows who there is", oneLine(name))
	case errors.As(err, &invalid):
		return usagef("%s: %s", invalid.Field, invalid.Message)
	}
	return err
}

type userAddCmd struct {
	database
	powers
	Name string `arg:"" help:"Who acts, in the log and in the audit."`
}

// Run adds somebody.
func (c *userAddCmd) Run(ctx context.Context, a *app) error {
	if err := store.CheckPersonName(c.Name); err != nil {
		return aboutPerson(c.Name, err)
	}
	hash, err := a.newPassword(ctx, c.Name)
	if err != nil {
		return err
	}
	return c.with(ctx, a, func(s *store.Store) error {
		p, err := s.AddPerson(ctx, actor(), c.Name, c.read(), hash)
		if err != nil {
			return aboutPerson(c.Name, err)
		}
		return a.said(wire.PersonOf(p), "%s may sign in as %s.\n", p.Name, p.Role)
	})
}

type userPasswdCmd struct {
	database
	Name string `arg:"" help:"Whose."`
}

// Run sets a password.
func (c *userPasswdCmd) Run(ctx context.Context, a *app) error {
	hash, err := a.newPassword(ctx, c.Name)
	if err != nil {
		return err
	}
	return c.with(ctx, a, func(s *store.Store) error {
		if _, err := s.SetPassword(ctx, actor(), store.SeenPerson{Name: c.Name}, hash); err != nil {
			return aboutPerson(c.Name, err)
		}
		return a.said(map[string]string{"name": c.Name}, "%s has another password, and is signed out everywhere.\n", c.Name)
	})
}

type userSetCmd struct {
	database
	powers
	Name string `arg:"" help:"Who."`
}

// Run changes what somebody may do.
func (c *userSetCmd) Run(ctx context.Context, a *app) error {
	return c.with(ctx, a, func(s *store.Store) error {
		if _, err := s.SetPowers(ctx, actor(), store.SeenPerson{Name: c.Name}, c.read()); err != nil {
			return aboutPerson(c.Name, err)
		}
		return a.said(map[string]string{"name": c.Name, "role": c.Role}, "%s is %s from now on.\n", c.Name, c.Role)
	})
}

type userDisableCmd struct {
	database
	Name string `arg:"" help:"Who."`
}

// Run closes an account.
func (c *userDisableCmd) Run(ctx context.Context, a *app) error {
	return c.with(ctx, a, func(s *store.Store) error {
		p, err := s.Disable(ctx, actor(), store.SeenPerson{Name: c.Name})
		if err != nil {
			return aboutPerson(c.Name, err)
		}
		return a.said(wire.PersonOf(p), "%s may neither sign in nor act by tokens until fenceline user enable.\n", c.Name)
	})
}

type userEnableCmd struct {
	database
	Name string `arg:"" help:"Who."`
}

// Run opens an account again.
func (c *userEnableCmd) Run(ctx context.Context, a *app) error {
	return c.with(ctx, a, func(s *store.Store) error {
		p, err := s.Enable(ctx, actor(), store.SeenPerson{Name: c.Name})
		if err != nil {
			return aboutPerson(c.Name, err)
		}
		return a.said(wire.PersonOf(p), "%s may sign in as %s.\n", c.Name, p.Role)
	})
}

type userSignOutCmd struct {
	database
	Name string `arg:"" help:"Who."`
}

// Run ends somebody's sessions.
func (c *userSignOutCmd) Run(ctx context.Context, a *app) error {
	return c.with(ctx, a, func(s *store.Store) error {
		p, err := s.PersonNamed(ctx, c.Name)
		if err != nil {
			return aboutPerson(c.Name, err)
		}
		ended, err := s.EndSignInsOf(ctx, actor(), p, "", "")
		if err != nil {
			return err
		}
		return a.said(map[string]any{"name": c.Name, "ended": ended}, "%s was signed out of %d browsers.\n", c.Name, ended)
	})
}

type userRemoveCmd struct {
	database
	Name string `arg:"" help:"Who."`
}

// Run takes an account away.
func (c *userRemoveCmd) Run(ctx context.Context, a *app) error {
	return c.with(ctx, a, func(s *store.Store) error {
		if _, err := s.RemovePerson(ctx, actor(), store.SeenPerson{Name: c.Name}); err != nil {
			return aboutPerson(c.Name, err)
		}
		return a.said(map[string]string{"name": c.Name}, "%s may not sign in any more.\n", c.Name)
	})
}

type userListCmd struct{ database }

// queuesText are the queues in which somebody may act: nil is all of them, and a
// token whose person may act in others only has none.
func queuesText(queues []string) string {
	switch {
	case queues == nil:
		return "all"
	case len(queues) == 0:
		return "none"
	}
	return strings.Join(queues, ", ")
}

func rightsText(rights []store.Right) string {
	words := make([]string, len(rights))
	for i, r := range rights {
		words[i] = string(r)
	}
	return strings.Join(words, ", ")
}

// Run lists everybody.
func (c *userListCmd) Run(ctx context.Context, a *app) error {
	return c.with(ctx, a, func(s *store.Store) error {
		people, err := s.People(ctx)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(map[string]any{"people": wire.PeopleOf(people)})
		}
		rows := [][]string{}
		for _, p := range people {
			signs := wire.PersonOf(p).SignsIn
			if !p.DisabledAt.IsZero() {
				signs = "disabled"
			}
			rows = append(rows, []string{p.Name, string(p.Role), rightsText(p.Rights), queuesText(p.Queues), signs, timeText(p.SignedAt)})
		}
		return printTable(a.out, []string{"NAME", "ROLE", "RIGHTS", "QUEUES", "SIGNS IN WITH", "LAST SIGNED IN"}, rows)
	})
}

// newPassword asks for a password at a terminal, twice and unseen, or reads the
// first line of standard input, and returns what may be kept of it.
func (a *app) newPassword(ctx context.Context, name string) (string, error) {
	password, err := a.readPassword()
	if err != nil {
		return "", err
	}
	if err := access.CheckPassword(name, password); err != nil {
		return "", usagef("%w", err)
	}
	return access.HashPassword(ctx, password)
}

func (a *app) readPassword() (string, error) {
	if file, ok := a.in.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return a.askPassword(int(file.Fd()))
	}
	line, err := bufio.NewReader(io.LimitReader(a.in, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password from standard input: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

func (a *app) askPassword(terminal int) (string, error) {
	fmt.Fprint(a.err, "New password: ")
	first, err := term.ReadPassword(terminal)
	fmt.Fprint(a.err, "\nOnce more: ")
	second, again := term.ReadPassword(terminal)
	fmt.Fprintln(a.err)
	if err := errors.Join(err, again); err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	if string(first) != string(second) {
		return "", usagef("password: the two are not the same")
	}
	return string(first), nil
}
