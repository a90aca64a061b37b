// Package search is the language in which people say which jobs they mean:
//
//	kind:report state:discarded error:"timeout" older:1h
//
// A search is a list of terms, all of which must hold. A term is a field, a
// colon and a value:
//
//	state:running,retryable      any of these
//	-queue:default               all but this
//	worker:host-a*               begins with this
//	key:"monthly report"         a value with spaces, commas or quotes; \" and \\ inside
//	attempts:>3  attempts:2..5   numbers
//	finished:<2026-01-31         before that day; >, >=, <= and .. likewise
//	due:<+10m  enqueued:>-2h     from now on, and back from now
//	older:1h  newer:7d           how long ago it was enqueued
//	args.customer.id:1970670598291982290
//
// A word without a field is a job's id when it is a number, and a key
// otherwise. Days and times without a zone are UTC. A day, minute or second
// means all of it, so that >2026-01-31 begins with the first of February.
//
// The package knows words only. What they mean in the database is the store's.
package search
