package request

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"

	"github.com/fenceline/fenceline/worker"
)

// Kind is the name of the kind.
const Kind = "http"

// Options are rules for every target.
type Options struct {
	worker.Options
	// Resolver looks up names; nil means the system's.
	Resolver *net.Resolver
}

// Register makes the pool work the kind "http" with these targets, by name.
// Without targets it does nothing, so that the pool claims no such job. The
// error names every field that is wrong by its path; see [Check]. At most one
// Options may be given; like [worker.Handle] it panics on errors of the program.
func Register(p *worker.Pool, targets map[string]Target, options ...Options) error {
	var o Options
	switch len(options) {
	case 0:
	case 1:
		o = options[0]
	default:
		panic("request: more than one Options")
	}
	ready, err := prepare(targets, o.Resolver)
	if err != nil || len(ready) == 0 {
		return err
	}
	s := &sender{targets: ready}
	worker.Handle(p, Kind, s.handle, o.Options)
	return nil
}

// prepare checks the targets once, where a mistake can still be read by whoever
// made it.
func prepare(targets map[string]Target, resolver *net.Resolver) (map[string]*target, error) {
	var errs []error
	ready := make(map[string]*target, len(targets))
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		if err := checkName(name); err != nil {
			errs = append(errs, fmt.Errorf("targets: %q: %w", name, err))
			continue
		}
		t, err := newTarget(targets[name], resolver)
		if err != nil {
			errs = append(errs, fmt.Errorf("targets.%s.%w", name, err))
			continue
		}
		ready[name] = t
	}
	return ready, errors.Join(errs...)
}
