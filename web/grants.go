package web

import (
	"slices"

	"github.com/fenceline/fenceline/store"
)

// Everybody is the group to which all belong who are vouched for.
const Everybody = "*"

// Grant gives powers to the members of a group of whoever vouches for people.
type Grant struct {
	Group  string // exactly as it is told, or [Everybody]
	Powers store.Powers
}

// granted joins what the groups of a person give; none gives nothing.
func granted(grants []Grant, groups []string) (joined store.Powers, any bool) {
	for _, g := range grants {
		if g.Group != Everybody && !slices.Contains(groups, g.Group) {
			continue
		}
		if !any {
			joined, any = g.Powers, true
			joined.Rights, joined.Queues = slices.Clone(joined.Rights), slices.Clone(joined.Queues)
			continue
		}
		if g.Powers.Role.Includes(joined.Role) {
			joined.Role = g.Powers.Role
		}
		for _, r := range g.Powers.Rights {
			if !slices.Contains(joined.Rights, r) {
				joined.Rights = append(joined.Rights, r)
			}
		}
		if joined.Queues == nil || g.Powers.Queues == nil {
			joined.Queues = nil
		} else {
			joined.Queues = append(joined.Queues, g.Powers.Queues...)
		}
	}
	return joined, any
}
