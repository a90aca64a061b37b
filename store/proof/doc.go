// Package proof holds the protocol against a model of itself.
//
// [State] and its methods are that model: one job, in pure Go, small enough to
// be read as the specification. [NewScript] draws what several clients do to
// one job: workers that claim, renew, complete, fail and release, by their own
// leases, by older ones, by each other's and by some that nobody was given;
// operators with old and new revisions; sweeps; and a world in which deadlines
// pass, due times come, other sessions hold the row, and answers are lost.
// [Stage.Play] lets them loose on the real store, on connections of their own,
// and judges what came of it:
//
//   - some order of the calls, in which none that ended comes after one that
//     began later, gives every answer in the model (linearizability, by
//     porcupine); a call whose answer was lost may stand anywhere after its
//     beginning, or nowhere
//   - the job's transitions, folded, break no invariant and give its row
//   - every change and every refusal that was answered is on record once, and
//     nothing else is
//
// [Run] does so for as many histories as are asked for. [Stage.Shrink] makes a
// failing one short, and [History.Timeline] shows it to a person.
//
// Deadlines pass because the row is moved, not the clock; a part of the scripts
// uses leases of a few milliseconds instead, which end by themselves. There the
// model does not know when, only that what was once seen ended stays so: a
// session that holds the row, and looks at the clock before it lets go, is such
// an observation.
package proof
