package developers

import (
	"net/http"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/inspect"
	"github.com/ratchet-pay/ratchet/internal/recent"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/web"
)

// requestPage is the inspector.
type requestPage struct {
	Request *inspect.Request
	Trace   trace
	Writes  []write
	Lines   []ui.Entry
	Sent    *inspect.Sent // nil: no client sent it
	Again   string        // the key of a request that sends it again
	State   string        // as the badge says it: a running request whose driver is dead is not running
}

// write is what the transaction of one recovery point wrote.
type write struct {
	Point    inspect.RecoveryPoint
	Postings []inspect.Posting
	Events   []inspect.Event
	Answer   bool
}

func (s Pages) request(r *http.Request) (*ui.Page, error) {
	found, err := idempotency.LookUp(r.Context(), s.Pool, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return s.unstored(r)
	}
	shown, err := inspect.Show(r.Context(), s.Pool, s.Books(), found[0])
	if err != nil {
		return nil, err
	}
	page := requestPage{
		Request: shown,
		Trace:   draw(shown),
		Writes:  writes(shown),
		Lines:   ui.Entries(inspect.Timeline(shown), shown.ID),
		Again:   ui.NewIdempotencyKey("again"),
		State:   displayState(shown.Summary),
	}
	page.Sent, err = inspect.ReadSent(r.Context(), s.Pool, s.Roots.Keys(secret.Idempotency), shown.Summary)
	if err != nil {
		return nil, err
	}
	return ui.Show("dashboard/request",
		web.Page{Title: result(page) + ": request " + shown.ID, Here: "requests", Data: page}), nil
}

// result is how the request ended, or the state that it is in: a tab in the background shows it.
func result(page requestPage) string {
	switch status := page.Request.Status; {
	case status == nil:
		return web.StateWord(page.State)
	case *status >= http.StatusBadRequest:
		return web.StateWord("failed")
	}
	return web.StateWord("succeeded")
}

// unstored shows a request that left no row.
func (s Pages) unstored(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	shown := s.Recent.Find(of.AccountID, of.Livemode, r.PathValue("id"))
	if shown == nil {
		return nil, ui.ErrNotFound
	}
	return ui.Show("dashboard/unstored", web.Page{Title: "Request " + shown.ID, Here: "requests",
		Data: unstoredPage{shown, loggedOf(*shown)}}), nil
}

// unstoredPage is a request that left no row.
type unstoredPage struct {
	*recent.Request
	Line logged
}

// Advice tells the developer of a rejected request what to do next.
func (p unstoredPage) Advice() string {
	const nothingDone = "The API rejected the request before it did anything. "
	switch {
	case p.Status == http.StatusUnauthorized:
		return nothingDone + "Send it again with a valid API key."
	case p.Status == http.StatusTooManyRequests || p.Status >= http.StatusInternalServerError:
		return nothingDone + "Nothing is wrong with it: wait a moment, and send it again with the same idempotency key."
	case p.Status == http.StatusConflict:
		return nothingDone + "Another request has the same idempotency key and is not finished. Send this one again " +
			"later, and you get that one's response."
	case p.Error.Type == apierror.TypeIdempotency:
		return nothingDone + "Its idempotency key belongs to a different request. Send it with a new key."
	}
	if p.Key == "" {
		return nothingDone + "Fix it, and send it again."
	}
	return nothingDone + "Fix it, and send it again. You can keep the idempotency key: this request did not use it."
}

func displayState(s idempotency.Summary) string {
	if inspect.Abandoned(s) {
		return "orphaned"
	}
	return s.State
}

// writes puts what was written to the recovery point it was committed with.
func writes(r *inspect.Request) []write {
	var all []write
	for _, point := range r.RecoveryPoints {
		if point.ReachedAt == nil {
			continue
		}
		all = append(all, write{Point: point})
	}
	for _, p := range r.Postings {
		if at := wrote(r, all, p.CreatedAt); at != nil {
			at.Postings = append(at.Postings, p)
		}
	}
	for _, e := range r.Events {
		if at := wrote(r, all, e.CreatedAt); at != nil {
			at.Events = append(at.Events, e)
		}
	}
	if len(all) > 0 && r.Status != nil {
		all[len(all)-1].Answer = true
	}
	return all
}

func wrote(r *inspect.Request, all []write, at time.Time) *write {
	point := r.Wrote(at)
	for i := range all {
		if point != nil && all[i].Point.Name == point.Name {
			return &all[i]
		}
	}
	return nil
}
