package dashboard

import (
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/inspect"
	"github.com/ratchet-pay/ratchet/web"
)

type searchPage struct {
	Query string
	Hits  []hit
}

type hit struct {
	inspect.Subject
	Href string
}

// search opens what a name stands for, or lists what it may stand for.
func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	page := searchPage{Query: strings.TrimSpace(r.FormValue("q"))}
	if len(page.Query) == 4 && strings.Trim(page.Query, "0123456789") == "" {
		http.Redirect(w, r, "/dashboard/payments?last4="+page.Query, http.StatusSeeOther)
		return
	}
	if page.Query != "" {
		found, err := inspect.Find(r.Context(), s.Pool, page.Query)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		for _, subject := range found {
			href, err := s.pageOf(r, subject)
			if err != nil {
				s.fail(w, r, err)
				return
			}
			page.Hits = append(page.Hits, hit{subject, href})
		}
	}
	if len(page.Hits) == 1 {
		http.Redirect(w, r, page.Hits[0].Href, http.StatusSeeOther)
		return
	}
	s.render(w, r, http.StatusOK, "dashboard/search", web.Page{Title: "Search", Here: "search", Desk: true, Data: page})
}

const selectPaymentOf = `
	SELECT charge_id AS id FROM refunds WHERE account_id = @account_id AND id = @id
	UNION ALL
	(SELECT id FROM charges WHERE account_id = @account_id AND payment_intent_id = @id ORDER BY id DESC LIMIT 1)
	UNION ALL
	SELECT request_id FROM payment_intents WHERE account_id = @account_id AND id = @id
	LIMIT 1`

// pageOf is where a subject is shown. A refund and an intent are shown with their
// payment, or, without one, with the request that made them.
func (s *Server) pageOf(r *http.Request, of inspect.Subject) (string, error) {
	id := of.ID
	if of.Kind == "refund" || of.Kind == "payment_intent" {
		found, err := read[struct{ ID string }](r.Context(), s, selectPaymentOf, pgx.StrictNamedArgs{"account_id": of.AccountID, "id": of.ID})
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			id = found[0].ID
		}
	}
	return web.Href(id), nil
}
