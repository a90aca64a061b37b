package wire

import "github.com/fenceline/fenceline/store"

// Page is a page of a list of jobs.
type Page struct {
	Jobs   []Job   `json:"jobs"`
	Order  string  `json:"order"`
	Next   *string `json:"next"`   // pass as after for what follows; null at the end
	Prev   *string `json:"prev"`   // pass as before for what comes before; null at the beginning
	Looked *int64  `json:"looked"` // the search stopped after so many jobs, and next goes on; null when it did not
}

// PageOf shows a page of a list of jobs.
func PageOf(p store.Page) Page {
	return Page{JobsOf(p.Jobs), string(p.Order), OrNull(p.Next.String()), OrNull(p.Prev.String()), OrNull(int64(p.Bound))}
}
