package embedded

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestTheServerInheritsNoSecretAndNoSettingOfItsOwner(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://user:secret@elsewhere/db")
	t.Setenv("PGPORT", "1")
	t.Setenv("PGDATA", "/nowhere")
	cfg := quick(made(t))
	cfg.Env = []string{"FENCELINE_GIVEN=yes"}
	s := mustStart(t, cfg)
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(env), "secret") || strings.Contains(string(env), "PGPORT") || !strings.Contains(string(env), "FENCELINE_GIVEN=yes") {
		t.Errorf("its environment is %q", env)
	}
}
