package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store/redact"
	"github.com/fenceline/fenceline/store/search"
)

// rules are those given, and the ones that hold beside them.
func (c Config) rules() (redact.Set, error) {
	rules := slices.Clone(c.Redact)
	if !c.RedactOnly {
		rules = append(rules, redact.Defaults()...)
	}
	return redact.NewSet(rules)
}

// said is a text of an attempt that is about to be stored, and what the attempt
// made beside it.
type said struct {
	lease  Lease
	result json.RawMessage
}

// keptSecrets are, by job, the values of what jobs were given and made that a
// rule keeps from everybody. They are taken out of texts before those are
// stored. Nothing has to be locked: other args take the attempt's lease away, and
// then its texts are not stored. Nothing is read where
// nothing is said or no rule keeps anything.
func (s *Store) keptSecrets(ctx context.Context, all []said) (map[int64]redact.Secrets, error) {
	if len(all) == 0 || !s.redact.KeepsValues() {
		return nil, nil
	}
	ids, results := make([]int64, len(all)), map[int64]json.RawMessage{}
	for i, t := range all {
		ids[i], results[t.lease.JobID] = t.lease.JobID, t.result
	}
	rows, err := s.pool.Query(ctx, `select j.id, j.kind, j.args from fenceline.jobs j where j.id = any ($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("read what is kept from texts: %w", err)
	}
	out := map[int64]redact.Secrets{}
	var id int64
	var kind string
	var args json.RawMessage
	_, err = pgx.ForEachRow(rows, []any{&id, &kind, &args}, func() error {
		out[id] = s.redact.Secrets(kind, args, results[id])
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what is kept from texts: %w", err)
	}
	return out, nil
}

// outputs are what the programs of completed attempts said, without what a rule
// keeps from everybody.
func (s *Store) outputs(ctx context.Context, batch []Completion) ([]string, error) {
	var all []said
	for _, c := range batch {
		if c.Output != "" {
			all = append(all, said{c.Lease, c.Result})
		}
	}
	kept, err := s.keptSecrets(ctx, all)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(batch))
	for i, c := range batch {
		out[i] = kept[c.Lease.JobID].Without(c.Output)
	}
	return out, nil
}

func (e AttemptError) without(secrets redact.Secrets) AttemptError {
	return AttemptError{secrets.Without(e.Class), secrets.Without(e.Message), secrets.Without(e.Trace)}
}

// ErrorClass is the class of an error as it may be told elsewhere than in the
// error's record, as in a span: without what a rule keeps from everybody of a
// job's args, short, and storable.
func (s *Store) ErrorClass(kind string, args json.RawMessage, class string) string {
	return AttemptError{Class: class}.without(s.redact.Secrets(kind, args, nil)).clean().Class
}

// failuresFor are the errors and outputs of a job's attempts as a reader of a
// sight sees them. What was stored before a rule held is held against it too.
func (s *Store) failuresFor(kind string, p Payload, all []AttemptFailure, sight redact.Sight) []AttemptFailure {
	out := make([]AttemptFailure, len(all))
	if len(all) == 0 {
		return out
	}
	secrets := s.redact.Secrets(kind, p.Args, p.Result)
	_, fromAll := s.redact.Text(kind, redact.Error, "x", redact.Revealed)
	_, outputFromAll := s.redact.Text(kind, redact.Output, "x", redact.Revealed)
	for i, f := range all {
		f.AttemptError, f.Output = f.without(secrets), secrets.Without(f.Output)
		var message, trace bool
		f.Message, message = s.redact.Text(kind, redact.Error, f.Message, sight)
		f.Trace, trace = s.redact.Text(kind, redact.Error, f.Trace, sight)
		f.Output, f.OutputKept = s.redact.Text(kind, redact.Output, f.Output, sight)
		f.ErrorKept = message || trace
		f.ErrorNever, f.OutputNever = f.ErrorKept && fromAll, f.OutputKept && outputFromAll
		out[i] = f
	}
	return out
}

// mayBeAsked refuses a search for what a rule keeps from everybody: its answer
// would tell. It is an *[InvalidError].
func (s *Store) mayBeAsked(q search.Query) error {
	var kinds []string
	if t, ok := q.Find(search.Kind); ok && exact(t) {
		kinds = words(t)
	}
	for _, t := range q.Terms {
		switch {
		case t.Field == search.Args && s.redact.Hides(kinds, redact.Args, t.Path):
			return &InvalidError{"q", "asks for args." + cut(storable(strings.Join(t.Path, ".")), 200) + ", which a rule keeps from everybody"}
		case t.Field == search.Error && s.redact.Hides(kinds, redact.Error, nil):
			return &InvalidError{"q", "asks for the texts of errors, which a rule keeps from everybody; name a kind without such a rule"}
		}
	}
	return nil
}
