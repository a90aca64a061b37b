// Package store is the protocol: every word and every statement by which a job
// changes. Nothing else writes to schema fenceline.
//
// # Who may finish a job
//
// A claim gives one attempt a bounded permission, its [Lease]: the job, an
// attempt id made by the claimer, the generation that the claim raised by one,
// and a deadline. Every later write of the attempt carries the first three and
// is decided, in the database, by the guard:
//
//	attempt id and generation are the row's, the job is running,
//	and the deadline lies ahead of the database's clock,
//	all read under the row's lock, the clock last
//
// Two tokens are compared because each covers the other's gap. The generation
// orders attempts and can be handed to systems outside; after a failover that
// lost an acknowledged claim, a promoted standby may issue the same generation
// again, and only the attempt id tells the two holders apart.
//
// Expiry changes permission, not processes. An attempt whose lease ended may
// run on; what it offers is refused, the refusal is recorded as a transition
// of that attempt, and nothing else changes.
//
//	verb       guard                     transition            refused with
//	Enqueue    unique (kind, key)        enqueued              *KeyConflictError, *InvalidError
//	Claim      available, handled kind   claimed               (none: nothing to do)
//	Renew      the guard                 renewed               *StaleError, rejected
//	Complete   the guard                 completed             *StaleError, rejected
//	Fail       the guard                 failed                *StaleError, rejected
//	Release    the guard                 released              *StaleError, rejected
//	Expire     running, deadline passed  expired               (skipped)
//	Promote    due                       promoted              (skipped)
//	Requeue    revision seen, state      requeued              *ConflictError, audit
//	Terminate  revision seen, state      terminated            *ConflictError, audit
//	Amend      revision seen, state      amended               *ConflictError, audit; *InvalidError
//	Erase      revision seen, ended      erased                *ConflictError, audit
//	Note       revision seen             noted                 *ConflictError, audit
//	Duplicate  revision seen, has args   duplicated, enqueued  *ConflictError, audit; *InvalidError
//
// # What an operator may change when
//
// What an attempt was given does not change while it runs: its args, and the
// queue whose limits it counts against. A requeue may bring other args, also of a
// running job, because it takes the lease away first. The due time is that of a job
// that waits. Priority, tags and a larger budget count from the next claim on, so
// they change in any state. Only what has ended can be erased, and then it does
// not run again without other args: the database itself holds that. Other args get
// the next version number, and those before are kept until the job is erased or
// removed. A request that carries an id is done once; its repeat is answered as
// done, and nothing else passes under the same id.
//
// # One statement, one transaction
//
// Each verb changes rows and records the transitions in one statement, so that
// a row and its log cannot part. The order inside it is what the guarantee
// rests on. PostgreSQL evaluates the condition of an update again only when the
// row it waited for was changed and committed; behind a session that merely
// locked the row, or rolled back, a condition with a clock in it keeps the
// answer from before the wait. So a first part locks the rows, in the order of
// their ids, and returns their columns; a second reads clock_timestamp() when
// every lock is held; the verdict compares only those values; the change, the
// transition and the record of a refusal follow from the verdict.
//
// # Time
//
// Only the database's clock decides, and only clock_timestamp() read under the
// lock: now() is the transaction's start. Go passes durations. The deadline is
// checked when a write is decided; the commit that follows may lie a moment
// later, and nobody else can have changed the row in between.
//
// # Repeats
//
// A worker that lost an answer offers the same verb again. The attempt that did
// it is told so, as success, however much happened since; nothing changes and
// nothing is recorded. Any other attempt is stale.
//
// # Reading
//
// [Fold] replays a job's transitions into its state and the lanes of its
// attempts, and names what no correct log can hold. The console draws it,
// [Store.Verify] compares it with every row, and the tests use the same one.
// Transitions of one job are ordered by id because each is written under the
// job's row lock; across jobs ids say nothing, since they commit out of order.
package store
