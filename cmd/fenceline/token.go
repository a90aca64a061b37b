package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
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

// Run lists tokens.
func (c *tokenListCmd) Run(ctx context.Context, a *app) error {
	return c.with(ctx, a, func(s *store.Store) error {
		tokens, err := s.Tokens(ctx, 0)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(map[string]any{"tokens": wire.TokensOf(tokens)})
		}
		rows := [][]string{}
		for _, t := range tokens {
			holds := t.Holds()
			rows = append(rows, []string{t.Actor(), string(holds.Role), rightsText(holds.Rights), queuesText(holds.Queues), timeText(t.ExpiresAt), orElse(timeText(t.UsedAt), "never")})
		}
		return printTable(a.out, []string{"ACTS AS", "ROLE", "RIGHTS", "QUEUES", "EXPIRES", "USED LAST"}, rows)
	})
}
