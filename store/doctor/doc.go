// Package doctor looks at a database the way an engineer on call would before
// trusting it with jobs: how the server is set, what stands between it and this
// program, who holds old snapshots, and how the tables do.
//
//	report := doctor.Examine(ctx, doctor.Config{URL: url})
//
// Every check ends in a [Finding]: ok, warn or fail, the figures that were seen,
// and one sentence of advice. Nothing is changed in the database. A check that
// cannot be made, because a right is missing or the schema is not there, says so
// instead of passing.
package doctor
