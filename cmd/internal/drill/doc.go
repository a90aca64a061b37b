// Package drill plays, with real processes, the story that Fenceline exists
// for: a worker is paused past its lease, another one takes the job over, and
// the first one's late result is refused.
//
//	A claims the job; its lease ends in a few seconds
//	A is stopped (SIGSTOP) and cannot renew
//	A's lease expires; the process still exists
//	B claims the job, with the next generation
//	A is continued (SIGCONT) and offers its result
//	the store refuses it and records that under A's attempt
//	B offers its result; it is accepted and stored
//
// A and B are two processes of this program, each with a pool of its own; see
// [Work]. Nothing is played to them: they are paused and continued from
// outside, and what is reported was read from the database. The job waits in
// [store.DrillQueue] and is of a kind that no other process handles, so that
// drills do not disturb each other or anything else.
package drill
