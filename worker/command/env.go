package command

import (
	"strconv"
	"strings"

	"github.com/fenceline/fenceline/worker"
)

// inherited are the variables that a program needs to find its way, and none
// that could hold a secret.
var inherited = map[string]bool{
	"PATH": true, "HOME": true, "USER": true, "LOGNAME": true, "SHELL": true, "LANG": true, "LANGUAGE": true,
	"TZ": true, "TMPDIR": true, "TEMP": true, "TMP": true, "SYSTEMROOT": true, "PATHEXT": true, "COMSPEC": true,
}

// Inherit picks from a process's environment, given as [os.Environ] returns it,
// what programs may have by default: PATH, HOME, USER, LANG, LC_*, TZ and the
// like. Nothing else is handed on, above all not the database's address.
func Inherit(environ []string) []string {
	kept := []string{}
	for _, entry := range environ {
		name, _, ok := strings.Cut(entry, "=")
		if ok && (inherited[strings.ToUpper(name)] || strings.HasPrefix(name, "LC_")) {
			kept = append(kept, entry)
		}
	}
	return kept
}

// Variables names those that tell a program who it works for.
func Variables() (names []string) {
	for _, entry := range identity(worker.Job[Args]{Attempt: &worker.Attempt{}}) {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	return names
}

// identity tells a program who it works for. The variables stand behind all
// others, so none of those can pass for them.
func identity(job worker.Job[Args]) []string {
	return []string{
		"FENCELINE_JOB_ID=" + strconv.FormatInt(job.ID, 10),
		"FENCELINE_ATTEMPT_ID=" + job.Attempt.ID.String(),
		"FENCELINE_GENERATION=" + strconv.FormatInt(job.Attempt.Generation, 10),
		"FENCELINE_IDEMPOTENCY_KEY=" + job.IdempotencyKey(),
		"FENCELINE_KIND=" + job.Kind,
		"FENCELINE_QUEUE=" + job.Queue,
		"FENCELINE_KEY=" + job.Key,
		"FENCELINE_COMMAND=" + job.Args.Name,
		"FENCELINE_ATTEMPT=" + strconv.Itoa(job.Attempt.Number),
		"FENCELINE_MAX_ATTEMPTS=" + strconv.Itoa(job.Attempt.Max),
	}
}
