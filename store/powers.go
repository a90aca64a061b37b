package store

import "slices"

// Role is what a person is to the console. Each may do what the one before may.
type Role string

// The roles.
const (
	RoleViewer   Role = "viewer"   // looks
	RoleOperator Role = "operator" // acts on jobs, queues and workers
	RoleAdmin    Role = "admin"    // has every right
)

// Roles are all roles, the least first.
var Roles = []Role{RoleViewer, RoleOperator, RoleAdmin}

// Includes reports whether the role may do what other may. A word that is no
// role includes nothing, and nothing includes it.
func (r Role) Includes(other Role) bool {
	mine, theirs := slices.Index(Roles, r), slices.Index(Roles, other)
	return theirs >= 0 && mine >= theirs
}

// Right is something that a role alone does not give.
type Right string

// The rights.
const (
	RightReveal Right = "reveal" // see and search what jobs were given and made
	RightBulk   Right = "bulk"   // act on many jobs at once
)

// Rights are all rights.
var Rights = []Right{RightReveal, RightBulk}

// Powers are what somebody may do.
type Powers struct {
	Role   Role
	Rights []Right
	Queues []string // where they may act; nil for everywhere. Looking is not bounded by it
}

// Has reports whether the powers hold a right. An admin has every one.
func (p Powers) Has(r Right) bool { return p.Role == RoleAdmin || slices.Contains(p.Rights, r) }

// ActsOn reports whether the powers reach a queue.
func (p Powers) ActsOn(queue string) bool { return p.Queues == nil || slices.Contains(p.Queues, queue) }

// Within returns what both powers hold.
func (p Powers) Within(bound Powers) Powers {
	if !bound.Role.Includes(p.Role) {
		p.Role = bound.Role
	}
	var rights []Right
	for _, r := range Rights {
		if p.Has(r) && bound.Has(r) {
			rights = append(rights, r)
		}
	}
	p.Rights = rights
	switch {
	case p.Queues == nil:
		p.Queues = bound.Queues
	case bound.Queues != nil:
		p.Queues = slices.DeleteFunc(slices.Clone(p.Queues), func(q string) bool { return !slices.Contains(bound.Queues, q) })
	}
	return p
}

// Check says, as an *[InvalidError], what of the powers there is not.
func (p Powers) Check() error {
	if !slices.Contains(Roles, p.Role) {
		return &InvalidError{"role", "must be viewer, operator or admin"}
	}
	for _, r := range p.Rights {
		if !slices.Contains(Rights, r) {
			return &InvalidError{"right", "must be reveal or bulk"}
		}
	}
	if p.Queues != nil && len(p.Queues) == 0 {
		return &InvalidError{"queue", "must name a queue, or be left out for all of them"}
	}
	for _, q := range p.Queues {
		if err := checkName("queue", q, MaxQueue); err != nil {
			return err
		}
	}
	return nil
}

// whyNotBulk says why powers do not reach an action on many jobs, as what
// somebody is or has now; empty when they do.
func (p Powers) whyNotBulk() string {
	switch {
	case !p.Role.Includes(RoleOperator):
		return "has the role " + string(p.Role) + " now"
	case !p.Has(RightBulk):
		return "has not the right " + string(RightBulk) + " any more"
	case p.Queues != nil:
		return "may act in some queues only now"
	}
	return ""
}
