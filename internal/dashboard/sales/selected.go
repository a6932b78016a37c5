package sales

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

// The list of payments has a box before each row. The checked ones can be downloaded, or refunded.

// selectedMost is more than a page of the list has.
const selectedMost = 100

const selectedPayments = `SELECT * FROM (
		(` + intentPayments + ` AND i.id = ANY (@ids::text[]))
		UNION ALL
		(` + plainPayments + ` AND c.id = ANY (@ids::text[]))) merged
		WHERE @before = '' OR substr(id, 4) < substr(@before, 4)
		ORDER BY substr(id, 4) DESC LIMIT @limit`

var selected = ui.Lister[Payment]{Down: selectedPayments, ID: func(p Payment) string { return p.ID }}

// selectedIDs are the payments that were checked.
func selectedIDs(r *http.Request) []string {
	_ = r.ParseForm() // what cannot be read selects nothing
	ids := slices.Compact(slices.Sorted(slices.Values(r.Form["selected"])))
	return ids[:min(len(ids), selectedMost)]
}

func (s Pages) selectedArgs(r *http.Request) (postgres.Args, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	args := paymentFilter{}.args(of)
	args["ids"] = selectedIDs(r)
	return args, nil
}

// selectedCSV sends the checked payments as a file.
func (s Pages) selectedCSV(r *http.Request) (*ui.Page, error) {
	args, err := s.selectedArgs(r)
	if err != nil {
		return nil, err
	}
	if len(args["ids"].([]string)) == 0 {
		return ui.RedirectWithError("/dashboard/payments", "Check the payments first."), nil
	}
	return selected.File(s.Env, r, "payments", paymentColumns, args)
}

// bulkRow is a payment that is about to be refunded, or was.
type bulkRow struct {
	paymentDetail
	Sent   string // the amount that the form asks for, in minor units
	Result string // what the API said against it
	Done   bool   // it is refunded
	Open   bool   // the outcome of the request is not known yet
}

// Asked is the amount that the form asks for.
func (b bulkRow) Asked() int64 {
	amount, _ := strconv.ParseInt(b.Sent, 10, 64)
	return amount
}

type bulkPage struct {
	Rows   []bulkRow
	Count  int      // of the payments that can be refunded
	Totals []string // by currency, of what can be refunded
	Key    string
	CSRF   string
	Asked  bool // the refunds were asked for: the rows say what came of it
	Again  bool // some were not answered
}

// selectedRefund shows what a refund of the checked payments would give back, and asks.
func (s Pages) selectedRefund(r *http.Request) (*ui.Page, error) {
	rows, err := s.selectedRows(r)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return ui.RedirectWithError("/dashboard/payments", "Check the payments first."), nil
	}
	return s.showBulk(r, bulkPage{Rows: rows, Key: ui.NewIdempotencyKey("refunds")}), nil
}

func (s Pages) selectedRows(r *http.Request) (rows []bulkRow, err error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	for _, id := range selectedIDs(r) {
		r.SetPathValue("id", id)
		found, err := s.findPayment(r)
		if err != nil {
			return nil, err
		}
		if found != nil && found.AccountID == of.AccountID && found.Livemode == of.Livemode {
			row := bulkRow{paymentDetail: *found}
			if row.CanRefund() {
				row.Sent = strconv.FormatInt(row.Refundable(), 10)
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (s Pages) showBulk(r *http.Request, page bulkPage) *ui.Page {
	page.CSRF = s.Token(r)
	sums := map[string]int64{}
	for _, row := range page.Rows {
		if row.CanRefund() && !row.Done {
			page.Count++
			sums[row.Currency] += row.Asked()
		}
	}
	for _, code := range ui.Sorted(sums) {
		page.Totals = append(page.Totals, money.Format(sums[code], code))
	}
	return ui.Show("dashboard/refunds", web.Page{Title: "Refund payments", Here: "payments", Data: page})
}

// postSelectedRefund refunds each payment under its own key, which the form's key and the
// payment's ID make. If the form is sent again, after a crash or a doubtful answer, each payment
// is refunded once.
func (s Pages) postSelectedRefund(r *http.Request) (*ui.Page, error) {
	rows, err := s.selectedRows(r)
	if err != nil {
		return nil, err
	}
	page := bulkPage{Rows: rows, Key: r.PostFormValue("key"), Asked: true}
	if page.Key == "" {
		return nil, ui.ErrNotFound
	}
	for i := range page.Rows {
		row := &page.Rows[i]
		if err := s.refundRow(r, row, page.Key+"-"+row.ID); err != nil {
			return nil, err
		}
		page.Again = page.Again || row.Open
	}
	return s.showBulk(r, page), nil
}

func (s Pages) refundRow(r *http.Request, row *bulkRow, key string) error {
	if row.ChargeID == nil {
		row.Result = "This payment wasn’t paid."
		return nil
	}
	row.Sent = r.PostFormValue("amount_" + row.ID) // as the page showed it, so that a repetition is the same request
	if row.Asked() <= 0 {
		row.Result = "Nothing was left to refund."
		return nil
	}
	a, err := s.Call(r, row.AccountID, row.Livemode, http.MethodPost, "/v1/refunds", key,
		url.Values{"charge": {*row.ChargeID}, "amount": {row.Sent}})
	if err != nil {
		return err
	}
	row.Result = ui.Refusal(a)
	row.Done, row.Open = row.Result == "", a.Open()
	r.SetPathValue("id", row.ID)
	found, err := s.findPayment(r) // with its new state
	if found != nil {
		row.paymentDetail = *found
	}
	return err
}
