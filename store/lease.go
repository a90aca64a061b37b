package store

import (
	"time"

	"github.com/google/uuid"
)

// Lease is an attempt's bounded permission to change one job. AttemptID and
// Generation together are the fence: a write is accepted only while the job's
// row still carries both and the deadline has not passed on the database's
// clock.
type Lease struct {
	JobID      int64
	AttemptID  uuid.UUID // made by the claimer, fresh for each claim
	Generation int64     // what the claim returned; never re-read
	Until      time.Time // the database's clock; for people, never for decisions in a worker
}
