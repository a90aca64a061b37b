package request

import (
	"errors"
	"net/netip"
	"syscall"
)

var errRefused = errors.New("the target is at an address that may not be dialled")

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// special4 are the networks of IPv4 that are not the public Internet, by IANA's
// registry of special purposes, and one public address that is none: it answers
// the machines of a cloud with what is theirs.
var special4 = prefixes(
	"0.0.0.0/8",        // this network
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // shared by carriers
	"127.0.0.0/8",      // loopback
	"169.254.0.0/16",   // link-local, metadata of clouds
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments
	"192.0.2.0/24",     // documentation
	"192.31.196.0/24",  // AS112
	"192.52.193.0/24",  // AMT
	"192.88.99.0/24",   // 6to4 relays
	"192.168.0.0/16",   // private
	"192.175.48.0/24",  // AS112
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, broadcast
	"168.63.129.16/32", // Azure's host
)

// Of IPv6, only global unicast is public, and of that not what embeds another
// address, nor what is set aside. Loopback, link-local, unique local, multicast,
// mapped, compatible and NAT64 addresses are outside of it.
var (
	global6  = netip.MustParsePrefix("2000::/3")
	special6 = prefixes(
		"2001::/23",     // protocol assignments: Teredo, benchmarks, ORCHID
		"2001:db8::/32", // documentation
		"2002::/16",     // 6to4
		"3fff::/20",     // documentation
	)
)

// public reports whether an address is on the public Internet.
func public(a netip.Addr) bool {
	if a.Is4() {
		return !within(a, special4)
	}
	return global6.Contains(a) && !within(a, special6)
}

func within(a netip.Addr, networks []netip.Prefix) bool {
	for _, n := range networks {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

// mayDial reports whether an address is public or allowed. A mapped address is
// the one that it maps: that is what would be dialled.
func mayDial(a netip.Addr, allow []netip.Prefix) bool {
	a = a.Unmap().WithZone("")
	return public(a) || within(a, allow)
}

// guard is a dialer's Control: it sees each address right before the connection,
// when no name can change its meaning any more.
func guard(allow []netip.Prefix) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(address)
		if err != nil || !mayDial(a.Addr(), allow) {
			return errRefused
		}
		return nil
	}
}
