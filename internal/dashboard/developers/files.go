package developers

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

var requestFile = []ui.Column[logged]{
	{Name: "id", Cell: func(l logged) string { return l.ID }},
	{Name: "created (UTC)", Cell: func(l logged) string { return ui.InTime(l.CreatedAt) }},
	{Name: "method", Cell: func(l logged) string { return l.Method }},
	{Name: "path", Cell: func(l logged) string { return l.Path }},
	{Name: "operation", Cell: func(l logged) string { return l.Flow }},
	{Name: "state", Cell: func(l logged) string { return l.State }},
	{Name: "status", Cell: func(l logged) string {
		if l.Status == nil {
			return ""
		}
		return strconv.Itoa(int(*l.Status))
	}},
	{Name: "attempts", Cell: func(l logged) string { return strconv.Itoa(int(l.Epoch)) }},
	{Name: "idempotency key", Cell: func(l logged) string {
		if l.KeyGenerated {
			return ""
		}
		return l.Key
	}},
	{Name: "object", Cell: func(l logged) string { return ui.InText(l.ObjectID) }},
	{Name: "duration in ms", Cell: func(l logged) string {
		if l.TookMS == nil {
			return ""
		}
		return strconv.FormatFloat(*l.TookMS, 'f', 3, 64)
	}},
}

func (s Pages) requestsCSV(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	args, err := s.loggedArgs(r, of, requestsPageOf(r), nil)
	if err != nil {
		return nil, err
	}
	return requestLog.File(s.Env, r, "requests", requestFile, args)
}

var eventFile = []ui.Column[event]{
	{Name: "id", Cell: func(e event) string { return e.ID }},
	{Name: "created (UTC)", Cell: func(e event) string { return ui.InTime(e.CreatedAt) }},
	{Name: "type", Cell: func(e event) string { return e.Type }},
	{Name: "object", Cell: func(e event) string { return e.ObjectID }},
	{Name: "request", Cell: func(e event) string { return e.RequestID }},
	{Name: "idempotency key", Cell: func(e event) string { return ui.InText(e.IdempotencyKey) }},
}

func (s Pages) eventsCSV(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	list, args := eventsOf(of, r.FormValue("type"))
	return list.File(s.Env, r, "events", eventFile, args)
}

var lineFile = slices.Concat(
	[]ui.Column[line]{
		{Name: "ledger entry", Cell: func(l line) string { return l.PostingID }},
		{Name: "created (UTC)", Cell: func(l line) string { return ui.InTime(l.CreatedAt) }},
		{Name: "for", Cell: func(l line) string { return l.Kind }},
		{Name: "source", Cell: func(l line) string { return l.Source }},
	},
	ui.Money("debit less credit", func(l line) (int64, string) { return l.Debit - l.Credit, l.Currency }),
	[]ui.Column[line]{
		{Name: "debit in minor units", Cell: func(l line) string { return ui.InCount(l.Debit) }},
		{Name: "credit in minor units", Cell: func(l line) string { return ui.InCount(l.Credit) }},
		{Name: "request", Cell: func(l line) string { return l.RequestID }},
	})

// ledgerCSV has the entries of one ledger account in one currency, as its page lists them.
func (s Pages) ledgerCSV(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	return lines.File(s.Env, r, "ledger", lineFile,
		of.Args(postgres.Args{"account": r.FormValue("account"), "currency": r.FormValue("currency")}))
}
