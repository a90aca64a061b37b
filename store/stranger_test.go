package store_test

import (
	"crypto/rand"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

func TestARoleWithoutRightsIsToldWhichOneItNeeds(t *testing.T) {
	t.Parallel()
	_, address := storetest.NewWithURL(t)
	owner, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close(t.Context())
	role := "stranger_" + strings.ToLower(rand.Text()[:8])
	if _, err := owner.Exec(t.Context(), "create role "+role+" login password 'stranger'"); err != nil {
		t.Fatal(err)
	}
	defer owner.Exec(t.Context(), "drop role "+role)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, "stranger")
	st, err := store.Open(t.Context(), store.Config{URL: u.String()})
	if err == nil {
		st.Close()
		t.Fatal("a stranger was let in")
	}
	if !strings.Contains(err.Error(), "granted "+store.RuntimeRole) {
		t.Errorf("it is told %v", err)
	}
}
