package views

import (
	"net/url"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
)

// stranger is the frame of who is not signed in.
func stranger() Frame {
	f := frame()
	f.Actor = ""
	return f
}

func adminFrame() Frame {
	f := frame()
	f.Actor, f.SignedIn = "ada", true
	return f
}

func uglySignIn() SignInPage {
	return SignInPage{Frame: stranger(), Passwords: true, Provider: hostile[0], Name: hostile[1], Next: hostile[2], Problem: strings.Join(hostile, " "),
		Kept: Kept{Path: "/jobs/1/terminate", Form: url.Values{FieldReason: {strings.Join(hostile, " ")}, hostile[0]: {hostile[1]}}}}
}

// samplePeople are accounts of every sort; the names of people are plain, and
// those of queues and providers are not.
func samplePeople() []store.Person {
	long := strings.Repeat("a-long-name", 9)
	return []store.Person{
		{ID: 1, Name: "ada", Powers: store.Powers{Role: store.RoleAdmin}, Revision: 1, CreatedAt: sampleNow.Add(-400 * 24 * time.Hour), SignedAt: sampleNow.Add(-time.Hour), Local: true},
		{ID: 2, Name: "grace", Powers: store.Powers{Role: store.RoleOperator, Rights: []store.Right{store.RightReveal}, Queues: []string{"mail", "reports"}}, Revision: 7, CreatedAt: sampleNow.Add(-time.Hour), SignedAt: sampleNow.Add(-time.Minute), Local: true},
		{ID: 3, Name: "alan@example.org", Powers: store.Powers{Role: store.RoleViewer}, Revision: 2, CreatedAt: sampleNow.Add(-time.Hour), DisabledAt: sampleNow.Add(-time.Minute), Issuer: "https://accounts.example.org"},
		{ID: 9007199254740993, Name: long, Powers: store.Powers{Role: store.RoleOperator, Queues: hostile}, Revision: 4611686018427387904, CreatedAt: sampleNow, DisabledAt: sampleNow, Issuer: "https://" + long + ".example.org/" + long},
	}
}

func sampleTokens(of store.Person) []store.Token {
	return []store.Token{
		{ID: 5, Name: "deploy", Person: of, Powers: store.Powers{Role: store.RoleAdmin}, CreatedAt: sampleNow.Add(-time.Hour), ExpiresAt: sampleNow.Add(90 * 24 * time.Hour), UsedAt: sampleNow.Add(-time.Minute)},
		{ID: 6, Name: strings.Repeat("x", 100), Person: of, Powers: store.Powers{Role: store.RoleViewer, Queues: hostile}, CreatedAt: sampleNow.Add(-time.Hour), ExpiresAt: sampleNow.Add(-time.Minute)},
	}
}

func sampleSignIns() []store.SignIn {
	at := sampleNow.Add(-time.Hour)
	return []store.SignIn{
		{TokenHash: "a", CreatedAt: at, SeenAt: sampleNow, ExpiresAt: sampleNow.Add(time.Hour), Address: "2001:db8:85a3:8d3:1319:8a2e:370:7348", Agent: strings.Join(hostile, " ")},
		{TokenHash: "b", CreatedAt: at, SeenAt: sampleNow, ExpiresAt: sampleNow.Add(time.Hour), Address: "192.0.2.7", Agent: "Mozilla/5.0 (X11; Linux x86_64) Firefox/151.0"},
	}
}

func uglyPerson() PersonPage {
	of := samplePeople()[3]
	typed := url.Values{FieldRole: {"king"}, FieldQueues: {strings.Join(hostile, "\n")}, FieldName: {hostile[0]}, FieldDays: {"<b>"}}
	return PersonPage{Frame: adminFrame(), Person: of, SignIns: sampleSignIns(), Tokens: sampleTokens(of), Powers: typed, Token: typed,
		Conflict: &store.PersonConflictError{Person: of, Seen: 3}, Problem: &store.InvalidError{Field: FieldQueues, Message: hostile[0]}}
}
