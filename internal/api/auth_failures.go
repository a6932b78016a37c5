package api

import (
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/logline"
	"github.com/ratchet-pay/ratchet/internal/telemetry"
)

// findKey looks an API key up. Each failure takes a token of its peer's bucket, and while that is
// empty no new key is looked up: guessing is bounded before it costs a query. A key that was valid
// here before is looked up in any case, so clients behind the same address keep working.
func (s *Server) findKey(h *http.Request, key string) (*apikey.Credential, error) {
	from := network(h.RemoteAddr)
	if !s.keys.Seen(key) && !s.limiters.failures.Left(from, time.Now()) {
		s.authFailed(h, telemetry.AuthLimited)
		return nil, apierror.RateLimited("global-rate")
	}
	credential, err := s.keys.Find(h.Context(), key)
	if errors.Is(err, apikey.ErrUnknown) || errors.Is(err, apikey.ErrExpired) {
		s.limiters.failures.Allow(from, time.Now())
	}
	switch {
	case errors.Is(err, apikey.ErrUnknown):
		s.authFailed(h, telemetry.AuthUnknown)
	case errors.Is(err, apikey.ErrExpired):
		s.authFailed(h, telemetry.AuthExpired)
	}
	return credential, err
}

// authFailed counts a failure and names the peer in the request's line of the log.
func (s *Server) authFailed(h *http.Request, reason telemetry.AuthFailure) {
	s.telemetry.AuthFailed(reason)
	logline.From(h.Context()).Add(slog.String("peer", peer(h.RemoteAddr)))
}

// network is whose bucket counts: an IPv4 address, or the /64 that an IPv6 customer is given whole.
func network(remote string) string {
	address, err := netip.ParseAddr(peer(remote))
	if err != nil {
		return ""
	}
	address = address.Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	prefix, _ := address.Prefix(64) // an IPv6 address has 64 bits
	return prefix.String()
}
