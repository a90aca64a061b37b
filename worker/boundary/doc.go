// Package boundary holds tests and nothing else: what happens at the edge of
// what the store can fence. A claim that is checked first, with a write that
// checks nothing later; a table of a user's own that compares generations; a
// delivery that is made again after a crash. They run the scripts and
// statements of docs/fencing.md, as they stand there.
package boundary
