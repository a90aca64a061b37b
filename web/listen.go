package web

import (
	"fmt"
	"net"
	"strconv"
)

// CheckListen refuses an address that machines other than this one could reach,
// unless people sign in, and do so over TLS: of the console itself or of a proxy
// in front. The error is a sentence for a person.
func CheckListen(addr string, signIn, overTLS bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("the listen address %q is not HOST:PORT, as in 127.0.0.1:8080", addr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("the port of %q must be a number from 0 to 65535; 0 picks a free one", addr)
	}
	if host == "localhost" {
		return nil
	}
	ip := net.ParseIP(host)
	switch {
	case ip != nil && ip.IsLoopback():
		return nil
	case !signIn:
		return fmt.Errorf("refusing to listen on %q: nobody has to sign in, so the console listens on loopback only; let people sign in with --sign-in passwords and --public-url https://NAME, or use 127.0.0.1, [::1] or localhost and reach it through a tunnel", addr)
	case !overTLS:
		return fmt.Errorf("refusing to listen on %q: passwords would cross the network as they are; say with --public-url https://NAME that a proxy in front speaks TLS, or give --tls-cert and --tls-key", addr)
	}
	return nil
}
