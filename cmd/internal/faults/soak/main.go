// Command soak breaks things around real processes for as long as it is told
// to, and prints what came of it as a table.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/fenceline/fenceline/cmd/internal/faults"
)

var cli struct {
	Minutes   float64       `name:"minutes" default:"10" help:"How long the scenes are played, but for their beginnings and ends."`
	Seed      uint64        `name:"seed" help:"Which faults befall whom; a fresh one is drawn and printed otherwise."`
	JSON      string        `name:"json" default:"bin/soak.json" help:"Where the figures are written."`
	Scene     []string      `name:"scene" help:"Play these alone: storm, disk full, failover, database clock, PgBouncer, two versions, control."`
	Histories int           `name:"histories" default:"-1" help:"Random histories to hold against the model; -1 for 2,000 a minute, 0 for none."`
	Fuzz      time.Duration `name:"fuzz" default:"-1s" help:"How long each fuzz target runs; negative for 2 s a minute, 0 for not at all."`
}

func main() {
	if role := os.Getenv(faults.RoleVariable); role != "" {
		os.Exit(faults.Play(role))
	}
	kong.Parse(&cli, kong.Name("soak"))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if cli.Seed == 0 {
		cli.Seed = rand.Uint64N(1_000_000_000)
	}
	ok, err := run(ctx)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case !ok:
		fmt.Fprintln(os.Stderr, "something that must not be was found")
		os.Exit(1)
	}
}
