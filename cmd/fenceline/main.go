// Command fenceline runs background jobs on PostgreSQL and shows, live, who
// held each of them.
//
// Its verbs are one file each. Flags and the environment are read here and
// nowhere else; docs/configuration.md lists them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // quiet hours name zones, which an image without files does not have
)

// version is set by the build.
var version string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for an orderly end; a second one is not caught.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	os.Exit(code)
}
