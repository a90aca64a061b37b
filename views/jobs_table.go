package views

import "github.com/fenceline/fenceline/store"

// rowsID names a list's body. Only a list that begins with the newest job may
// take new rows in.
func rowsID(p JobsPage) string {
	if p.Page.Prev.ID > 0 || p.Filter.Before.ID > 0 || p.Filter.After.ID > 0 || p.Page.Order != store.OrderNewest {
		return "rows-older"
	}
	return "rows"
}

func dueLabel(j store.Job) string {
	if j.State == store.Running {
		return "Lease"
	}
	return "Next run"
}

// firstOf is what the way back to a list's beginning is called.
func firstOf(o store.Order) string {
	if o == store.OrderNewest {
		return "Newest"
	}
	return "First"
}

// newerOf and olderOf are what the pages before and after are called.
func newerOf(o store.Order) string {
	if o == store.OrderNewest {
		return "Newer"
	}
	return "Previous"
}

func olderOf(o store.Order) string {
	if o == store.OrderNewest {
		return "Older"
	}
	return "Next"
}
