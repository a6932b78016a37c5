package api

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/limit"
	"github.com/ratchet-pay/ratchet/internal/logline"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// A customer who mistypes a promotion code tries a few times. A program that guesses codes tries thousands.
const (
	wrongCodesOfSession = 10 // at once, and one more each minute
	wrongCodesOfPeer    = 30 // at once, and one more every ten seconds: many customers can share an address
)

// codeTries bound how many wrong promotion codes customers try, by session and by peer.
type codeTries struct{ session, peer *limit.Rates }

func newCodeTries() codeTries {
	return codeTries{
		session: limit.NewRatesEvery(time.Minute, wrongCodesOfSession),
		peer:    limit.NewRatesEvery(10*time.Second, wrongCodesOfPeer),
	}
}

// take takes a try of the peer and one of the session, before the code is looked up: so parallel
// requests cannot try more. giveBack returns both when the code was not wrong.
func (t codeTries) take(peer, session string) (giveBack func(), ok bool) {
	now := time.Now()
	if !t.peer.Allow(peer, now) {
		return nil, false
	}
	if !t.session.Allow(session, now) {
		t.peer.GiveBack(peer, now) // nothing was looked up
		return nil, false
	}
	return func() {
		t.peer.GiveBack(peer, now)
		t.session.GiveBack(session, now)
	}, true
}

// limitingCodes is a route on which customers type promotion codes. A merchant's own key can list its codes, so it is
// not limited.
func (r route) limitingCodes() route {
	const param = "promotion_code"
	usual := r.answer
	r.answer = func(ctx context.Context, s *Server, q *request) (phase.Response, []byte, error) {
		if code, _ := q.values.Text(param); code == "" || !q.publishable() {
			return usual(ctx, s, q)
		}
		giveBack, ok := s.limiters.codes.take(network(q.http.RemoteAddr), q.pathParam("session"))
		if !ok {
			logline.From(ctx).Add(slog.String("peer", q.address()))
			return phase.Response{}, nil, tooManyCodes()
		}
		answer, body, err := usual(ctx, s, q)
		var refusal *apierror.Error
		if !errors.As(err, &refusal) || refusal.Param != param {
			giveBack()
		}
		return answer, body, err
	}
	return r
}

func tooManyCodes() *apierror.Error {
	e := apierror.RateLimited("endpoint-rate")
	e.Message = "Too many promotion codes that are not valid were tried. Try again in a minute."
	e.Retry, e.RetryAfter = "false", 60 // a retry tries the same code
	return e
}
