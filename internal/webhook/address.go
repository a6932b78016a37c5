package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Objection says why an address cannot be an endpoint's, in words for the merchant who
// chose it, or "" if it can. It looks at the text alone: the address behind a name is decided, and
// checked, when it is dialed.
func Objection(address string, private *Private) string {
	u, err := url.Parse(address)
	switch {
	case err != nil || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "Not a valid URL"
	case u.Scheme == "":
		return "Invalid URL: An explicit scheme (such as https) must be provided."
	case u.Hostname() == "" || u.Opaque != "":
		return "Not a valid URL"
	case u.User != nil:
		return "Invalid URL: A user name or password must not be part of it."
	case u.Fragment != "":
		return "Invalid URL: A fragment must not be part of it."
	}
	return objectionToHost(u, private)
}

// Private says which addresses webhooks may reach besides those of the internet, as the operator
// has decided. nil: none.
type Private struct {
	loopback bool
	ports    []uint16 // of this machine; none: all
	networks []netip.Prefix
}

type privateKey struct{}

// WithPrivate gives a request's check the private addresses that its webhooks may reach:
// they are the process's configuration, not part of the request.
func WithPrivate(ctx context.Context, private *Private) context.Context {
	return context.WithValue(ctx, privateKey{}, private)
}

// PrivateFrom returns what WithPrivate has stored; nil: no private address.
func PrivateFrom(ctx context.Context) *Private {
	private, _ := ctx.Value(privateKey{}).(*Private)
	return private
}

// Private returns what the operator has decided about this machine and about private networks.
func (c Config) Private() *Private {
	if !c.AllowLoopback && len(c.Networks) == 0 {
		return nil
	}
	return &Private{loopback: c.AllowLoopback, ports: c.LoopbackPorts, networks: c.Networks}
}

// allowsPort says whether webhooks may reach a port of this machine.
func (p *Private) allowsPort(port uint16) bool {
	return p.loopback && (len(p.ports) == 0 || slices.Contains(p.ports, port))
}

// allows says whether webhooks may reach an address, although it is not a public one.
func (p *Private) allows(to netip.AddrPort) bool {
	if p == nil {
		return false
	}
	addr := to.Addr().WithZone("").Unmap()
	if addr.IsLoopback() {
		return p.allowsPort(to.Port())
	}
	return slices.ContainsFunc(p.networks, func(n netip.Prefix) bool { return n.Contains(addr) })
}

// mayContain says whether a host could be in an allowed network. What a name resolves to
// is checked when a connection is made.
func (p *Private) mayContain(host string) bool {
	if p == nil || len(p.networks) == 0 || looksLikeNumber(host) {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return err != nil || p.allows(netip.AddrPortFrom(addr, 0))
}

// portOf is the port that an address names, or its scheme's.
func portOf(u *url.URL) uint16 {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	n, _ := strconv.ParseUint(port, 10, 16) // 0 is no port, and no rule allows it
	return uint16(n)
}

func objectionToHost(u *url.URL, private *Private) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	addr, err := netip.ParseAddr(host)
	isAddr := err == nil
	local := host == "localhost" || strings.HasSuffix(host, ".localhost") || isAddr && addr.Unmap().IsLoopback()
	web := u.Scheme == "http" || u.Scheme == "https"
	if local && web && private != nil && private.loopback {
		if private.allowsPort(portOf(u)) {
			return ""
		}
		return fmt.Sprintf("Invalid URL: This installation may not send webhooks to port %d of this machine. "+
			"The operator can allow it with --webhook-loopback-ports.", portOf(u))
	}
	switch {
	case web && !local && private.mayContain(host):
		return ""
	case u.Scheme != "https":
		return "Invalid URL: URLs must be HTTPS."
	case local || isAddr && !public(addr) || looksLikeNumber(host) || !isAddr && !strings.Contains(host, "."):
		return "Invalid URL: URL must be publicly accessible."
	case !allowedPort(u.Port()):
		return fmt.Sprintf("Invalid URL: Only the ports %s are allowed.", portList())
	}
	return ""
}

// looksLikeNumber finds the ways of writing an IPv4 address that the standard
// library does not read and a resolver may: 2130706433, 0x7f.1, 127.1.
func looksLikeNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	_, errDecimal := strconv.ParseUint(last, 10, 64)
	_, addrErr := netip.ParseAddr(host)
	return addrErr != nil && (err == nil || errDecimal == nil)
}

// ports are those a webhook may go to: what else answers there is no web server.
var ports = []uint16{443, 8443}

func allowedPort(port string) bool {
	if port == "" {
		return true
	}
	for _, p := range ports {
		if port == strconv.Itoa(int(p)) {
			return true
		}
	}
	return false
}

func portList() string {
	var all []string
	for _, p := range ports {
		all = append(all, strconv.Itoa(int(p)))
	}
	return strings.Join(all, " and ")
}

// reserved are the networks that contain no public web server, even if the
// standard library disagrees.
var reserved = prefixes(
	"0.0.0.0/8",       // this network
	"100.64.0.0/10",   // carrier-grade NAT, and the metadata of some clouds
	"192.0.0.0/24",    // protocol assignments, and the metadata of one
	"192.0.2.0/24",    // documentation
	"192.88.99.0/24",  // 6to4 relays
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"240.0.0.0/4",     // reserved, and broadcast
	"::/96",           // IPv4-compatible
	"::ffff:0:0:0/96", // IPv4-translated (RFC 2765)
	"64:ff9b::/96",    // IPv4 translated
	"64:ff9b:1::/48",  // the same, locally
	"100::/64",        // discard
	"2001::/23",       // protocol assignments, Teredo and ORCHID among them
	"2001:db8::/32",   // documentation
	"2002::/16",       // 6to4: any IPv4 address in disguise
	"3fff::/20",       // documentation
	"5f00::/16",       // segment routing
	"fec0::/10",       // site-local
)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// public says whether an address is one of the open internet.
func public(addr netip.Addr) bool {
	addr = addr.WithZone("").Unmap()
	if !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() {
		return false
	}
	for _, network := range reserved {
		if network.Contains(addr) {
			return false
		}
	}
	return true
}

// ErrForbidden says that an endpoint's name led to where no webhook goes.
var ErrForbidden = errors.New("the address is not public")

// guard is asked for every connection after its name was resolved and before it
// is made. A name that stood for another address a moment ago gets nowhere.
func guard(private *Private) func(network, address string, _ syscall.RawConn) error {
	return func(network, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || !strings.HasPrefix(network, "tcp") {
			return ErrForbidden
		}
		if private.allows(to) {
			return nil
		}
		if !public(to.Addr()) || !allowedPort(strconv.Itoa(int(to.Port()))) {
			return fmt.Errorf("%w: %s", ErrForbidden, to)
		}
		return nil
	}
}
