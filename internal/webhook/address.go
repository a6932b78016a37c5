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
// checked, when it is dialled.
func Objection(address string, loopback LoopbackPorts) string {
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
	return objectionToHost(u, loopback)
}

// LoopbackPorts says to which ports of this machine webhooks may go; nil: to none.
type LoopbackPorts func(port uint16) bool

type loopbackKey struct{}

// WithLoopback gives a request's check the ports of this machine that its webhooks
// may go to: they are the process's configuration, not part of the request.
func WithLoopback(ctx context.Context, ports LoopbackPorts) context.Context {
	return context.WithValue(ctx, loopbackKey{}, ports)
}

// LoopbackFrom returns the ports that WithLoopback has put there; nil: none.
func LoopbackFrom(ctx context.Context) LoopbackPorts {
	ports, _ := ctx.Value(loopbackKey{}).(LoopbackPorts)
	return ports
}

// Loopback is what the operator has decided about this machine's ports.
func (c Config) Loopback() LoopbackPorts {
	if !c.AllowLoopback {
		return nil
	}
	return func(port uint16) bool { return len(c.LoopbackPorts) == 0 || slices.Contains(c.LoopbackPorts, port) }
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

func objectionToHost(u *url.URL, loopback LoopbackPorts) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	addr, err := netip.ParseAddr(host)
	isAddr := err == nil
	local := host == "localhost" || strings.HasSuffix(host, ".localhost") || isAddr && addr.Unmap().IsLoopback()
	if local && loopback != nil && (u.Scheme == "http" || u.Scheme == "https") {
		if loopback(portOf(u)) {
			return ""
		}
		return "Invalid URL: This installation sends webhooks to other ports of this machine only. " +
			"The operator chooses them with --webhook-loopback-ports."
	}
	switch {
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
func guard(loopback LoopbackPorts) func(network, address string, _ syscall.RawConn) error {
	return func(network, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || !strings.HasPrefix(network, "tcp") {
			return ErrForbidden
		}
		if loopback != nil && to.Addr().Unmap().IsLoopback() && loopback(to.Port()) {
			return nil
		}
		if !public(to.Addr()) || !allowedPort(strconv.Itoa(int(to.Port()))) {
			return fmt.Errorf("%w: %s", ErrForbidden, to)
		}
		return nil
	}
}
