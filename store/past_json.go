package store

import (
	"strconv"
	"time"
)

// PastJSON is a [Past] as programs read it.
type PastJSON struct {
	At        time.Time       `json:"at"`
	SampledAt *time.Time      `json:"sampled_at"` // when what stood in the queues was read; null when nobody did in that minute
	Kept      *time.Time      `json:"counts_from"`
	Gone      bool            `json:"before_all_counts"`
	Queues    []pastQueueJSON `json:"queues"`
	Jobs      pastJobsJSON    `json:"jobs"` // that a search finds by what happened to them in the minute
	More      bool            `json:"more"`
	Incidents []string        `json:"incidents"` // ids of those that were open then
}

type pastJobsJSON struct {
	Completed pastCountJSON `json:"completed"`
	Expired   pastCountJSON `json:"expired"`
	Refused   pastCountJSON `json:"refused"`
}

type pastCountJSON struct {
	N      int64 `json:"count"`
	Capped bool  `json:"capped"`
}

type pastQueueJSON struct {
	Queue     string  `json:"queue"`
	Waiting   *int64  `json:"waiting"` // null where it is not known, as are the next two
	Capped    bool    `json:"waiting_capped"`
	Running   *int64  `json:"running"`
	Oldest    *string `json:"oldest_due_for"`
	Claimed   int64   `json:"claimed"`
	Completed int64   `json:"completed"`
	Failed    int64   `json:"failed"`
	Expired   int64   `json:"expired"`
	Refused   int64   `json:"refused"`
}

// PastOf is how the API and the command line show it.
func PastOf(p Past) PastJSON {
	out := PastJSON{At: p.At, SampledAt: timeOrNull(p.Sampled), Kept: timeOrNull(p.Kept), Gone: p.Gone(), Queues: []pastQueueJSON{}, More: p.More, Incidents: []string{},
		Jobs: pastJobsJSON{pastCountJSON(p.Jobs.Completed), pastCountJSON(p.Jobs.Expired), pastCountJSON(p.Jobs.Refused)}}
	for _, q := range p.Queues {
		one := pastQueueJSON{Queue: q.Name, Capped: q.Waiting.Capped, Claimed: q.Claimed, Completed: q.Completed, Failed: q.Failed, Expired: q.Expired, Refused: q.Refused}
		if q.Known {
			oldest := q.Oldest.String()
			one.Waiting, one.Running, one.Oldest = &q.Waiting.N, &q.Running, &oldest
		}
		out.Queues = append(out.Queues, one)
	}
	for _, i := range p.Incidents {
		out.Incidents = append(out.Incidents, strconv.FormatInt(i.ID, 10))
	}
	return out
}
