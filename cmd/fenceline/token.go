package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/web/access"
)

type tokenCmd struct {
	Add    tokenAddCmd    `cmd:"" help:"Make a token with which a program acts for a person; it is printed once."`
	List   tokenListCmd   `cmd:"" help:"List tokens, and when each was used last."`
	Remove tokenRemoveCmd `cmd:"" help:"Make a token invalid at once."`
}

// tokenOf names a token.
type tokenOf struct {
	Person string `arg:"" help:"Who it acts for: never beyond what they may do."`
	Name   string `arg:"" help:"What it is for. It acts as PERSON/NAME."`
}

type tokenAddCmd struct {
	database
	powers
	tokenOf
	Expires keep `name:"expires" default:"90d" placeholder:"TIME" help:"How long it is valid, as 90d or 12h; at most 366d."`
}

// Run makes a token.
func (c *tokenAddCmd) Run(ctx context.Context, a *app) error {
	token := access.NewToken()
	return c.with(ctx, a, func(s *store.Store) error {
		err := s.AddToken(ctx, actor(), c.Person, c.Name, c.read(), time.Duration(c.Expires), access.Hash(token))
		if err != nil {
			return aboutPerson(c.Person, err)
		}
		return a.said(map[string]string{"token": token, "acts_as": c.Person + "/" + c.Name}, "%s\n", token)
	})
}

type tokenRemoveCmd struct {
	database
	tokenOf
}

// Run removes a token.
func (c *tokenRemoveCmd) Run(ctx context.Context, a *app) error {
	return c.with(ctx, a, func(s *store.Store) error {
		err := s.RemoveToken(ctx, actor(), c.Person, c.Name)
		if errors.Is(err, store.ErrNoToken) {
			return fmt.Errorf("there is no token %s of %s; fenceline token list shows those there are", oneLine(c.Name), oneLine(c.Person))
		}
		if err != nil {
			return err
		}
		return a.said(map[string]string{"removed": c.Person + "/" + c.Name}, "%s/%s is not valid any more.\n", c.Person, c.Name)
	})
}

type tokenListCmd struct{ database }

type tokenJSON struct {
	ActsAs    string   `json:"acts_as"`
	Role      string   `json:"role"` // what holds, within what its person may do now
	Rights    []string `json:"rights"`
	Queues    []string `json:"queues"` // null for all
	ExpiresAt string   `json:"expires_at"`
	UsedAt    *string  `json:"used_at"` // to a minute; null when it never was
}

// Run lists tokens.
func (c *tokenListCmd) Run(ctx context.Context, a *app) error {
	return c.with(ctx, a, func(s *store.Store) error {
		tokens, err := s.Tokens(ctx, 0)
		if err != nil {
			return err
		}
		all, rows := []tokenJSON{}, [][]string{}
		for _, t := range tokens {
			holds := t.Holds()
			j := tokenJSON{ActsAs: t.Actor(), Role: string(holds.Role), Rights: rightWords(holds.Rights), Queues: holds.Queues, ExpiresAt: timeText(t.ExpiresAt)}
			if !t.UsedAt.IsZero() {
				at := timeText(t.UsedAt)
				j.UsedAt = &at
			}
			all = append(all, j)
			rows = append(rows, []string{j.ActsAs, j.Role, strings.Join(j.Rights, ", "), queuesText(j.Queues), j.ExpiresAt, orElse(timeText(t.UsedAt), "never")})
		}
		if a.json {
			return a.printJSON(map[string]any{"tokens": all})
		}
		return printTable(a.out, []string{"ACTS AS", "ROLE", "RIGHTS", "QUEUES", "EXPIRES", "USED LAST"}, rows)
	})
}
