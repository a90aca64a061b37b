package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
)

// Proxied trusts a proxy in front to say who people are. It must take these
// headers out of whatever it is sent.
type Proxied struct {
	From         []netip.Prefix // the addresses from which the proxy connects
	UserHeader   string         // holds the person's name
	GroupsHeader string         // holds their groups, with commas between; empty for none
	Grants       []Grant
}

// trusts reports whether a request comes from the proxy itself.
func (p *Proxied) trusts(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	address, err := netip.ParseAddr(host)
	return err == nil && slices.ContainsFunc(p.From, func(from netip.Prefix) bool { return from.Contains(address.Unmap()) })
}

// ofProxy finds out of whom the proxy says that they sent a request. What
// anybody else says is not read. With an error it returns who was refused.
func (s *Server) ofProxy(c echo.Context) (person, error) {
	p, r := s.cfg.SignIn.Proxied, c.Request()
	if p == nil || !p.trusts(r) {
		return person{}, nil
	}
	names := r.Header.Values(p.UserHeader)
	if len(names) == 0 {
		return person{}, nil
	}
	if len(names) > 1 || store.CheckPersonName(names[0]) != nil {
		return person{}, &problem{Status: http.StatusForbidden, Code: "forbidden", Message: "The proxy in front names a person in a way that cannot be read: one name of letters, digits and . _ - + @ is expected."}
	}
	var groups []string
	if p.GroupsHeader != "" {
		for _, group := range strings.Split(strings.Join(r.Header.Values(p.GroupsHeader), ","), ",") {
			groups = append(groups, strings.TrimSpace(group))
		}
	}
	powers, any := granted(p.Grants, groups)
	if !any {
		return person{name: names[0]}, &problem{Status: http.StatusForbidden, Code: "forbidden", Message: "You are known, but none of your groups may use this console.", Kept: keptByRole}
	}
	return person{name: names[0], Powers: powers}, nil
}

// addressOf is from where a request comes: the connection's other end, or what
// the trusted proxies say of it.
func addressOf(in *SignIn) echo.IPExtractor {
	if in == nil {
		return echo.ExtractIPDirect()
	}
	trusted := in.Proxies
	if in.Proxied != nil {
		trusted = slices.Concat(trusted, in.Proxied.From)
	}
	if len(trusted) == 0 {
		return echo.ExtractIPDirect()
	}
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, from := range trusted {
		_, network, err := net.ParseCIDR(from.Masked().String())
		if err == nil {
			trust = append(trust, echo.TrustIPRange(network))
		}
	}
	return echo.ExtractIPFromXFFHeader(trust...)
}
