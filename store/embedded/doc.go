// Package embedded runs a private PostgreSQL server for one Fenceline
// installation, on the server binaries that the machine already has.
//
// The server is a child process. It listens on a Unix socket in a directory
// that only its user may enter, and on no network port, so trusting every
// connection is exactly as strong as that directory's permissions.
//
// One directory, named by [Config].DataDir, holds everything:
//
//	.             held (flock) by each process that visits the server of another
//	lock          held (flock) while a process owns the directory, with its pid inside
//	data/         the cluster; never deleted, never upgraded, never reinitialised
//	run/          the socket (a short directory below /tmp when this path is too long)
//	postgres.log  what the server said
//
// Ownership comes first: a second process that starts on the same directory
// fails with [ErrInUse] before it touches anything. When the owner dies without
// a word, Linux tells the server to stop; elsewhere, or when that signal came
// to nothing, the next start finds the surviving server, stops it and waits.
// The server is never believed to be ready because something answers on its
// socket, since that may be somebody else's server: ready means that the pid
// file names our own child and says so.
package embedded
