package web

import (
	"fmt"
	"net"
	"strconv"
)

// CheckListen refuses an address that machines other than this one could
// reach: without accounts, whoever reaches the console may act. The error is a
// sentence for a person.
func CheckListen(addr string) error {
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
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("refusing to listen on %q: the console has no accounts, so it listens on loopback only; use 127.0.0.1, [::1] or localhost, and a tunnel or a proxy that authenticates people", addr)
	}
	return nil
}
