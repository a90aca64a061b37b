package wire

import "github.com/fenceline/fenceline/store"

// Past is what the queues looked like in a minute.
type Past struct {
	At        string      `json:"at"`
	SampledAt *string     `json:"sampled_at"` // when what stood in the queues was read; null when nobody did in that minute
	Kept      *string     `json:"counts_from"`
	Gone      bool        `json:"before_all_counts"`
	Queues    []PastQueue `json:"queues"`
	Jobs      PastJobs    `json:"jobs"` // that a search finds by what happened to them in the minute
	More      bool        `json:"more"`
	Incidents []string    `json:"incidents"` // ids of those that were open then
}

// PastJobs are how many jobs a search finds.
type PastJobs struct {
	Completed Count `json:"completed"`
	Expired   Count `json:"expired"`
	Refused   Count `json:"refused"`
}

// PastQueue is a queue in that minute.
type PastQueue struct {
	Queue     string  `json:"queue"`
	Waiting   *int64  `json:"waiting"` // null where it is not known, as are the next two
	Capped    bool    `json:"waiting_capped"`
	Running   *int64  `json:"running"`
	Oldest    *string `json:"oldest_due_for"` // a duration as Go writes it
	Claimed   int64   `json:"claimed"`
	Completed int64   `json:"completed"`
	Failed    int64   `json:"failed"`
	Expired   int64   `json:"expired"`
	Refused   int64   `json:"refused"`
}

// PastOf shows what the queues looked like.
func PastOf(p store.Past) Past {
	out := Past{At: Instant(p.At), SampledAt: InstantOrNull(p.Sampled), Kept: InstantOrNull(p.Kept), Gone: p.Gone(), Queues: []PastQueue{}, More: p.More, Incidents: []string{},
		Jobs: PastJobs{Count(p.Jobs.Completed), Count(p.Jobs.Expired), Count(p.Jobs.Refused)}}
	for _, q := range p.Queues {
		one := PastQueue{Queue: q.Name, Capped: q.Waiting.Capped, Claimed: q.Claimed, Completed: q.Completed, Failed: q.Failed, Expired: q.Expired, Refused: q.Refused}
		if q.Known {
			oldest := q.Oldest.String()
			one.Waiting, one.Running, one.Oldest = &q.Waiting.N, &q.Running, &oldest
		}
		out.Queues = append(out.Queues, one)
	}
	for _, i := range p.Incidents {
		out.Incidents = append(out.Incidents, Decimal(i.ID))
	}
	return out
}
