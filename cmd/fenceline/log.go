package main

import (
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/fenceline/fenceline/store"
)

// logger logs to standard error, for people on a terminal and for machines
// elsewhere.
func (c *cli) logger(to io.Writer, verb string) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.level(verb)}
	if c.LogFormat == "text" || c.LogFormat == "auto" && isTerminal(to) {
		if c.LogLevel != "debug" {
			options.ReplaceAttr = plainly
		}
		return slog.New(slog.NewTextHandler(to, options))
	}
	return slog.New(slog.NewJSONHandler(to, options))
}

// plainly writes errors as people are told them.
func plainly(_ []string, a slog.Attr) slog.Attr {
	if err, is := a.Value.Any().(error); is {
		a.Value = slog.StringValue(store.Plainly(err))
	}
	return a
}

func (c *cli) level(verb string) slog.Level {
	level := slog.LevelWarn
	if verb == "serve" || verb == "worker" {
		level = slog.LevelInfo
	}
	if c.LogLevel != "auto" {
		// kong has checked the word.
		_ = level.UnmarshalText([]byte(strings.ToUpper(c.LogLevel)))
	}
	return level
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
