package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func TestTwoAdminsChangeAnAccountAndOneOfThemIsToldSo(t *testing.T) {
	f := open(t)
	for name, role := range map[string]store.Role{"ada": store.RoleViewer, "root": store.RoleAdmin} {
		if _, err := f.AddPerson(f.ctx, "test", name, store.Powers{Role: role}, "x"); err != nil {
			t.Fatal(err)
		}
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
	f.exec(`delete from fenceline.people where name = 'root'`)
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

func TestTwoAdminsWhoEndEachOtherLeaveOneOfThem(t *testing.T) {
	f := open(t)
	admin, names := store.Powers{Role: store.RoleAdmin}, []string{"ada", "grace"}
	ends := map[string]func(of string) error{
		"person_remove":  func(of string) error { _, err := f.RemovePerson(f.ctx, "test", store.SeenPerson{Name: of}); return err },
		"person_disable": func(of string) error { _, err := f.Disable(f.ctx, "test", store.SeenPerson{Name: of}); return err },
		"person_powers": func(of string) error {
			_, err := f.SetPowers(f.ctx, "test", store.SeenPerson{Name: of}, store.Powers{Role: store.RoleOperator})
			return err
		},
	}
	active := func() int {
		return value[int](f, `select count(*) from fenceline.people where role = 'admin' and disabled_at is null`)
	}
	for one, first := range ends {
		for two, second := range ends {
			f.exec(`delete from fenceline.people`)
			for _, name := range names {
				if _, err := f.AddPerson(f.ctx, "test", name, admin, "x"); err != nil {
					t.Fatal(err)
				}
			}
			// Both are under way before either can look.
			held := f.hold(`select from fenceline.people for update`)
			done := make(chan error, 2)
			go func() { done <- first("ada") }()
			go func() { done <- second("grace") }()
			f.until("both wait", func() bool {
				return value[int](f, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`) == 2
			})
			if err := held.Rollback(f.ctx); err != nil {
				t.Fatal(err)
			}
			var conflict *store.PersonConflictError
			if a, b := <-done, <-done; (a == nil) == (b == nil) || !errors.As(errors.Join(a, b), &conflict) || conflict.Why != store.ConflictLastAdmin {
				t.Fatalf("%s and %s: %v, %v", one, two, a, b)
			}
			if active() != 1 || f.person(conflict.Person.Name).Role != store.RoleAdmin {
				t.Errorf("%s and %s: %d admins are left", one, two, active())
			}
		}
	}
	if got := value[int](f, `select count(*) from fenceline.audit where outcome = 'last_admin' and action ~ '^person_' and seen = 1 and revision = 1 and detail ? 'person'`); got != len(ends)*len(ends) {
		t.Errorf("%d refusals are in the audit", got)
	}

	// One at a time, of two: the second is refused, and may change what keeps an admin.
	f.exec(`delete from fenceline.people`)
	for _, name := range names {
		if _, err := f.AddPerson(f.ctx, "test", name, admin, "x"); err != nil {
			t.Fatal(err)
		}
	}
	ada, grace := store.SeenPerson{Name: "ada"}, store.SeenPerson{Name: "grace"}
	for range 2 { // a disabled admin may be disabled again, and is none to count on
		if _, err := f.Disable(f.ctx, "test", ada); err != nil {
			t.Fatal(err)
		}
	}
	for action, end := range ends {
		var conflict *store.PersonConflictError
		if err := end("grace"); !errors.As(err, &conflict) || conflict.Why != store.ConflictLastAdmin || conflict.Person.Revision != 1 {
			t.Errorf("%s of the last admin: %v", action, err)
		}
	}
	if _, err := f.SetPassword(f.ctx, "test", grace, "y"); err != nil {
		t.Error(err)
	}
	if _, err := f.SetPowers(f.ctx, "test", grace, store.Powers{Role: store.RoleAdmin, Queues: []string{"mail"}}); err != nil {
		t.Error(err)
	}
	if _, err := f.SetPowers(f.ctx, "test", ada, store.Powers{Role: store.RoleViewer}); err != nil {
		t.Error(err)
	}
	// A provider decides about its own people, and a proxy may name admins who have no account.
	if _, err := f.Vouched(f.ctx, "https://id.example", "1", "linus", admin); err != nil {
		t.Fatal(err)
	}
	if _, err := f.RemovePerson(f.ctx, "test", grace); err != nil {
		t.Error(err)
	}
	if p, err := f.Vouched(f.ctx, "https://id.example", "1", "linus", store.Powers{Role: store.RoleViewer}); err != nil || p.Role != store.RoleViewer {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := f.Vouched(f.ctx, "https://id.example", "1", "linus", admin); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Disable(f.ctx, "test", store.SeenPerson{Name: "linus", Elsewhere: true}); err != nil || active() != 0 {
		t.Error(err)
	}
}

func (f *fixture) person(name string) store.Person {
	f.t.Helper()
	p, err := f.PersonNamed(f.ctx, name)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}
