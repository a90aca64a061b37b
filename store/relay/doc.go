// Package relay stands between a program and its PostgreSQL server and does
// what networks do: it cuts connections, leaves them half-open, slows them
// down, refuses new ones, and loses the answer of a commit that the server has
// made. It also rewrites the statements that pass, so that the very program
// that is shipped can be seen under another protocol. It is for tests and
// drills.
package relay
