// Package faults runs real processes against a real PostgreSQL and breaks
// things around them: it kills and stops workers, cuts and blinds their
// connections, loses the answers of commits, restarts, slows, fills and
// replaces the database. Afterwards it judges, from the database and from what
// the processes had been told, whether anything was lost, doubled, or accepted
// from an attempt without authority.
//
// A [Rig] is one database with everything around it. Its processes are this
// very program, started again with a role (see [Play]): producers that enqueue
// and remember what was acknowledged, workers, operators, and absentees, which
// claim, let the lease go by, and write all the same. Each reaches the database
// through a relay of its own and says what it was told on standard output,
// where nothing that happens to the database can change it.
//
// A [Scene] is a plan for one rig: which faults, how many, for how long. [Storm]
// has those that any machine can do; the others need a file system of their
// own, a second server, a pooler or a false clock, and say so when it is
// missing. [Control] is the storm with the fence taken out of the statements:
// it must find what the others must not.
//
// Nothing is judged by the code under test alone: [Rig.judge] counts in SQL of
// its own, beside store.Verify.
package faults
