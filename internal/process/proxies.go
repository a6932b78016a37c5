package process

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// throughProxies puts a client's address in the place of the trusted proxy's that passed its request on. All that
// limits, logs or records addresses then has the client's.
func throughProxies(trusted []netip.Prefix, next http.Handler) http.Handler {
	if len(trusted) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from, is := forwardedFor(trusted, r); is {
			r = r.WithContext(r.Context())
			r.RemoteAddr = net.JoinHostPort(from.String(), "0")
		}
		next.ServeHTTP(w, r)
	})
}

// forwardedFor reads X-Forwarded-For from the right, where the nearest proxy appends its peer, and returns the first
// address that is not a trusted proxy's. A client may have made up what is left of it. An entry that is not an address
// ends the search: the proxy that passed it on counts as the client.
func forwardedFor(trusted []netip.Prefix, r *http.Request) (from netip.Addr, is bool) {
	at, known := hop(r.RemoteAddr)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, text := range slices.Backward(hops) {
		if !known || !slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(at) }) {
			break
		}
		next, isAddress := hop(strings.TrimSpace(text))
		if !isAddress {
			break
		}
		at, is = next, true
	}
	return at, is
}

// hop is an address as a proxy writes it, with or without a port. The zone of an IPv6 address has no meaning elsewhere.
func hop(text string) (address netip.Addr, is bool) {
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		withPort, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		address = withPort.Addr()
	}
	return address.Unmap().WithZone(""), true
}
