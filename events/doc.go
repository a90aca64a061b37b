// Package events is the live feed: what happens to a job in the database
// arrives at whoever watches that job, in order, without a hole, and soon.
//
// A [Hub] is one for a process. It listens on one dedicated connection, reads
// what somebody watches through the store, and hands it to bounded
// subscriptions. Its cost follows the watchers, not the traffic: while nobody
// watches, a notification costs no query.
//
// # What is promised
//
//	a watcher sees                   because
//	each transition of its jobs      a cursor for each job; every read starts there, whatever woke it
//	in the job's own order           every record of a job is written under its row lock, so its ids are its order
//	each id once                     a cursor only moves forward
//	soon, whatever others do         rows are read after their commit; the horizon of open transactions holds back
//	                                 only the resume position, never a delivery
//	everything, or is told           a subscription ends with [ErrSlow] or [ErrTooFar], never by dropping rows
//
// Nothing is promised about the order of two jobs: ids commit out of order
// across jobs, so a consumer compares ids of one job only.
//
// # Why a notification is only a hint
//
// A NOTIFY that is sent while nobody listens is gone, a statement may be told
// not to notify, and equal payloads fold. So a notification carries a
// transaction's number and nothing else; it tells the hub which jobs to look
// at, and the cursor tells what is new. Missing notifications cost latency:
// after LISTEN is in place on a new connection every watched job is read from
// its cursor; the same happens at a slow steady pace, and at a quicker one
// while no connection listens. A read that fails is repeated until it
// succeeds.
//
// # Positions
//
// A resume position is a transaction number below which everything was
// delivered. It comes from the horizon of a snapshot (pg_snapshot_xmin) and is
// handed out only once every notification from below it was heard: the ping
// that also proves the connection alive is sent after the horizon was read, so
// hearing it means that nothing older is still under way. Resuming by position
// may repeat what the reader saw last; it never skips.
package events
