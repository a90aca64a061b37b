package wire

import "github.com/fenceline/fenceline/store"

// Powers are what somebody may do.
type Powers struct {
	Role   string   `json:"role"`
	Rights []string `json:"rights"`
	Queues []string `json:"queues"` // null for all
}

func powersOf(p store.Powers) Powers {
	out := Powers{Role: string(p.Role), Rights: []string{}, Queues: p.Queues}
	for _, r := range p.Rights {
		out.Rights = append(out.Rights, string(r))
	}
	return out
}

// Person is the account of somebody.
type Person struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Powers
	Revision   int64     `json:"revision"`
	SignsIn    string    `json:"signs_in_with"` // password, or the provider
	CreatedAt  *string   `json:"created_at"`
	SignedAt   *string   `json:"signed_in_at"`
	DisabledAt *string   `json:"disabled_at"`
	SignIns    *[]SignIn `json:"sign_ins,omitempty"`
}

// SignIn is a session of somebody.
type SignIn struct {
	ID        string  `json:"id"`
	CreatedAt *string `json:"created_at"`
	SeenAt    *string `json:"seen_at"`
	ExpiresAt *string `json:"expires_at"`
	Address   string  `json:"address"`
	Agent     string  `json:"agent"`
}

// PersonOf shows an account without its sessions.
func PersonOf(p store.Person) Person {
	out := Person{ID: Decimal(p.ID), Name: p.Name, Powers: powersOf(p.Powers), Revision: p.Revision, SignsIn: "password",
		CreatedAt: InstantOrNull(p.CreatedAt), SignedAt: InstantOrNull(p.SignedAt), DisabledAt: InstantOrNull(p.DisabledAt)}
	if !p.Local {
		out.SignsIn = p.Issuer
	}
	return out
}

// PeopleOf shows accounts, in their order; none are an empty list.
func PeopleOf(all []store.Person) []Person {
	out := make([]Person, len(all))
	for i, p := range all {
		out[i] = PersonOf(p)
	}
	return out
}

// PersonWith shows an account with its sessions.
func PersonWith(p store.Person, all []store.SignIn) Person {
	ins := make([]SignIn, len(all))
	for i, in := range all {
		ins[i] = SignIn{in.TokenHash, InstantOrNull(in.CreatedAt), InstantOrNull(in.SeenAt), InstantOrNull(in.ExpiresAt), in.Address, in.Agent}
	}
	out := PersonOf(p)
	out.SignIns = &ins
	return out
}
