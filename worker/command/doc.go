// Package command is the built-in kind "command": it runs programs that the
// configuration allows by name, so that real work needs no Go.
//
// A job's args are {"name": NAME, "input": any JSON}. The program is started
// without arguments and without a shell, in a process group of its own:
//
//	standard input    the input as JSON, then end of file
//	standard output   the result as JSON; nothing means null
//	standard error    for people: the last 8 KiB are kept with the attempt, with
//	                  control characters removed and obvious secrets masked
//	environment       FENCELINE_JOB_ID, FENCELINE_ATTEMPT_ID, FENCELINE_GENERATION,
//	                  FENCELINE_IDEMPOTENCY_KEY, FENCELINE_KIND, FENCELINE_QUEUE,
//	                  FENCELINE_KEY, FENCELINE_COMMAND, FENCELINE_ATTEMPT,
//	                  FENCELINE_MAX_ATTEMPTS, and what [Options].Env names
//
// How it ends decides:
//
//	exit status 0     success with the result. Output that is not JSON, or is
//	                  larger than [store.MaxResult], is a permanent failure
//	                  named result_unstorable: the work is done, and doing it
//	                  again would not change what was printed
//	exit status 65    a permanent failure: the input is wrong (EX_DATAERR)
//	anything else     a failure that is retried, of class "exit status N" or
//	                  "signal NAME"
//
// When the attempt loses its authority, times out or the pool's grace time is
// over, the group gets SIGTERM and, after [Options].Stop, SIGKILL. Processes
// that are still in the group when the program ends are killed too; one that
// moves to a session of its own escapes, but cannot hold the attempt up. A
// program that outlives a killed worker acts without authority: it has no way
// to complete anything, and its effects are not fenced. Hand
// FENCELINE_GENERATION or FENCELINE_IDEMPOTENCY_KEY to whatever it changes.
package command
