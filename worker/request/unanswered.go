package request

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/fenceline/fenceline/worker"
	"github.com/fenceline/fenceline/worker/internal/outcome"
)

// unanswered says why there is no answer, in words of our own: those of the
// libraries hold names, addresses and parts of what was received.
func (t *target) unanswered(ctx, limited context.Context, name string, err error) error {
	var lookup *net.DNSError
	var dial *net.OpError
	switch {
	case errors.Is(err, errRefused):
		return worker.Permanent(outcome.Fail("address refused", fmt.Sprintf(
			"%s is at an address that is not public; name its network in the target's allow if requests may go there", name), nil))
	case ctx.Err() != nil:
		return outcome.Fail("stopped", "the request to "+name+" was stopped", context.Cause(ctx))
	case limited.Err() != nil || isTimeout(err):
		return outcome.Fail("timeout", fmt.Sprintf("%s did not answer to the end within %s", name, t.timeout), nil)
	case errors.As(err, &lookup):
		return outcome.Fail("dns", fmt.Sprintf("the name of %s could not be looked up: %s", name, why(lookup)), nil)
	case tlsTrouble(err) != "":
		return outcome.Fail("tls", fmt.Sprintf("no TLS with %s: %s", name, tlsTrouble(err)), nil)
	case errors.As(err, &dial) && dial.Op == "dial":
		return outcome.Fail("dial", fmt.Sprintf("%s could not be reached: %s", name, errno(err)), nil)
	}
	return outcome.Fail("connection", fmt.Sprintf("the connection to %s ended before its answer did, or the answer was not HTTP", name), nil)
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

func why(err *net.DNSError) string {
	if err.IsNotFound {
		return "no such host"
	}
	return "the server failed"
}

// errno is the system's word for what happened, which holds nothing else.
func errno(err error) string {
	var n syscall.Errno
	if errors.As(err, &n) {
		return n.Error()
	}
	return "the connection failed"
}

// tlsTrouble is empty for an error that has nothing to do with TLS.
func tlsTrouble(err error) string {
	var (
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
		verify  *tls.CertificateVerificationError
		alert   tls.AlertError
		record  tls.RecordHeaderError
	)
	var remote *net.OpError
	switch {
	case errors.As(err, &remote) && remote.Op == "remote error", errors.As(err, &alert):
		return "it refused the handshake"
	case errors.As(err, &unknown):
		return "its certificate is of an authority that is not trusted"
	case errors.As(err, &host):
		return "its certificate is for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate has expired or is not valid yet"
	case errors.As(err, &invalid), errors.As(err, &verify):
		return "its certificate is not valid"
	case errors.As(err, &record):
		return "it does not speak TLS"
	}
	return ""
}
