package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// Plainly is an error's text for people. Where the cause is one that they can do
// something about (nothing listens, a wrong password, a database that is not
// there, a missing permission, a server that is read-only or out of room), a
// sentence stands in place of the driver's words and the server's code; whatever
// else the error says stays.
func Plainly(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	var away *pgconn.ConnectError
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &away):
		if why := whyAway(away); why != "" {
			return strings.Replace(text, away.Error(), why, 1)
		}
	case errors.As(err, &refused):
		if why := whyRefused(refused); why != "" {
			return strings.Replace(text, refused.Error(), why, 1)
		}
	}
	return text
}

// whyAway is empty where the cause is not known, or where several servers were
// tried, each of which may have one of its own.
func whyAway(away *pgconn.ConnectError) string {
	to := away.Config
	for _, other := range to.Fallbacks {
		if other.Host != to.Host || other.Port != to.Port {
			return ""
		}
	}
	network, address := pgconn.NetworkAddress(to.Host, to.Port)
	var refused *pgconn.PgError
	var name *net.DNSError
	var slow net.Error
	switch {
	case errors.As(away, &refused):
		switch refused.Code {
		case "28P01":
			return fmt.Sprintf("%s does not take the password of user %s, or has no such user", address, to.User)
		case "3D000":
			return fmt.Sprintf("there is no database %s at %s", to.Database, address)
		}
		if why := whyRefused(refused); why != "" {
			return address + ": " + why
		}
	case network == "unix" && (errors.Is(away, fs.ErrNotExist) || errors.Is(away, syscall.ECONNREFUSED)):
		return fmt.Sprintf("no server listens at %s", address)
	case errors.Is(away, syscall.ECONNREFUSED):
		return fmt.Sprintf("no server listens at %s: connection refused", address)
	case errors.As(away, &name) && name.IsNotFound:
		return fmt.Sprintf("the host %s is not known", to.Host)
	case errors.Is(away, context.DeadlineExceeded), errors.Is(away, os.ErrDeadlineExceeded), errors.As(away, &slow) && slow.Timeout():
		return fmt.Sprintf("%s did not answer in time", address)
	}
	return ""
}

// whyRefused is empty where the code says something that only its text explains.
func whyRefused(refused *pgconn.PgError) string {
	switch refused.Code {
	case "25006":
		return "the server is read-only: it is a standby, or was set so"
	case "53300":
		return "the server has no connection left"
	case "57014":
		return "the server gave up, because it took too long"
	case "57P01", "57P02":
		return "the server is being stopped"
	case "57P03":
		return "the server takes no connections now: it starts, or is being stopped"
	case "55P03":
		return "others kept it locked for too long"
	case "28000", "42501", "53100":
		return refused.Message
	}
	return ""
}
