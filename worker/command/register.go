package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/fenceline/fenceline/worker"
)

// Kind is the name of the kind.
const Kind = "command"

const maxName = 255 // bytes

// Options are rules for every program.
type Options struct {
	worker.Options
	// Env is the environment that programs get beside the FENCELINE variables, as
	// "NAME=value"; see [Inherit]. Nil means a plain PATH and nothing else.
	Env []string
	// Dir is the working directory; empty means the worker's own.
	Dir string
	// Stop is how long a program may take to end after SIGTERM before it gets
	// SIGKILL; 0 means 3 s. Keep it below the pool's Wind.
	Stop time.Duration
}

// Register makes the pool work the kind "command" with these programs, by name
// and path. Without programs it does nothing, so that the pool claims no such
// job. The error names every program that cannot be run from here. At most one
// Options may be given; like [worker.Handle] it panics on errors of the
// program.
func Register(p *worker.Pool, programs map[string]string, options ...Options) error {
	var o Options
	switch len(options) {
	case 0:
	case 1:
		o = options[0]
	default:
		panic("command: more than one Options")
	}
	if o.Stop == 0 {
		o.Stop = 3 * time.Second
	}
	if o.Env == nil {
		o.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	}
	found, err := resolve(programs)
	if err != nil || len(found) == 0 {
		return err
	}
	r := &runner{programs: found, options: o}
	worker.Handle(p, Kind, r.handle, o.Options)
	return nil
}

// resolve checks the programs once, where a mistake can still be read by whoever
// made it.
func resolve(programs map[string]string) (map[string]string, error) {
	var errs []error
	found := make(map[string]string, len(programs))
	for name, path := range programs {
		full, err := executable(name, path)
		if err != nil {
			errs = append(errs, fmt.Errorf("command %q: %w", name, err))
			continue
		}
		found[name] = full
	}
	return found, errors.Join(errs...)
}

func executable(name, path string) (string, error) {
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, unicode.IsControl) {
		return "", fmt.Errorf("the name must have 1 to %d bytes and no control characters", maxName)
	}
	if path == "" {
		return "", errors.New("the path is empty")
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(full)
	if err != nil {
		return "", err
	}
	if info.IsDir() || !mayRun(info) {
		return "", fmt.Errorf("%s is not a program that may be run", full)
	}
	return full, nil
}
