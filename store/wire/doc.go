// Package wire is what programs read of the store: the JSON of the API and of
// the command line, which are the same. Every id is a string, because a browser's
// numbers lose digits of 64 bits; every time is RFC 3339 in UTC, of the database's
// clock; what is absent is null, and what holds nothing an empty list.
package wire
