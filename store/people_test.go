package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func TestTwoAdminsChangeAnAccountAndOneOfThemIsToldSo(t *testing.T) {
	f := open(t)
	if _, err := f.AddPerson(f.ctx, "test", "ada", store.Powers{Role: store.RoleViewer}, "x"); err != nil {
		t.Fatal(err)
	}
	seen := store.SeenPerson{Name: "ada", Revision: 1}
	done := make(chan error, 2)
	for _, role := range []store.Role{store.RoleOperator, store.RoleAdmin} {
		go func() {
			_, err := f.SetPowers(f.ctx, string(role), seen, store.Powers{Role: role})
			done <- err
		}()
	}
	var conflict *store.PersonConflictError
	if one, two := <-done, <-done; (one == nil) == (two == nil) || !errors.As(errors.Join(one, two), &conflict) || conflict.Seen != 1 || conflict.Person.Revision != 2 {
		t.Fatalf("%v, %v", one, two)
	}
	if got := value[string](f, `select string_agg(outcome, ', ' order by outcome) from fenceline.audit where action = 'person_powers' and seen = 1 and revision = 2`); got != "changed, done" {
		t.Errorf("the audit says %s", got)
	}
	// Who says not what they saw changes whatever there is, and nobody is nobody.
	if p, err := f.SetPowers(f.ctx, "test", store.SeenPerson{Name: "ada"}, store.Powers{Role: store.RoleViewer}); err != nil || p.Revision != 3 {
		t.Errorf("%+v, %v", p, err)
	}
	for _, name := range []string{"eve", "", "a\x00b", "a\xffb"} {
		if _, err := f.Disable(f.ctx, "test", store.SeenPerson{Name: name}); !errors.Is(err, store.ErrNoPerson) {
			t.Errorf("%q: %v", name, err)
		}
	}
	// The program before knows nothing of it: whoever is disabled stays out.
	if err := f.AddToken(f.ctx, "test", "ada", "ci", store.Powers{Role: store.RoleViewer}, time.Hour, "h"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Disable(f.ctx, "test", store.SeenPerson{Name: "ada"}); err != nil {
		t.Fatal(err)
	}
	for value[int](f, "select max(version_id) from fenceline.schema_version") >= 19 {
		if err := store.MigrateDown(f.ctx, f.url); err != nil {
			t.Fatal(err)
		}
	}
	if value[bool](f, `select exists (select from fenceline.tokens) or exists (select from fenceline.people where password is not null)`) {
		t.Error("who was disabled is let in by the program before")
	}
	if err := store.Migrate(f.ctx, f.url); err != nil {
		t.Fatal(err)
	}
}
