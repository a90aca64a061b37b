package faults

import (
	"context"

	"github.com/fenceline/fenceline/store"
)

// migrate brings the schema to this program's version.
func (r role) migrate(ctx context.Context) error {
	if err := store.Migrate(ctx, r.URL); err != nil {
		return err
	}
	say(word{Word: wordUp})
	return nil
}
