package views

import "github.com/fenceline/fenceline/store"

// rowsID names a list's body. Only a list that begins with the newest job may
// take new rows in.
func rowsID(p JobsPage) string {
	if p.Page.Prev > 0 || p.Filter.Before > 0 || p.Filter.After > 0 {
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

// filtered reports whether a filter leaves jobs out.
func filtered(f store.Filter) bool {
	return f.State != "" || f.Kind != "" || f.Queue != "" || f.Key != ""
}

// pageOf is the filter of another page of the same list.
func pageOf(f store.Filter, before, after int64) store.Filter {
	f.Before, f.After = before, after
	return f
}
