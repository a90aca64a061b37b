package main

import (
	"net/url"
	"strings"
)

// onDatabase is a connection string for another database of the same server,
// in the form that it was given in: a URL or keywords, of which the last one
// counts.
func onDatabase(dsn, name string) (string, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " dbname=" + name, nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", usagef("--database-url: is not an address that can be read")
	}
	u.Path = "/" + name
	q := u.Query()
	q.Del("dbname")
	q.Del("database")
	u.RawQuery = q.Encode()
	return u.String(), nil
}
