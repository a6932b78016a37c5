package sales

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/money"
)

// action is something that can be done to a payment: the request that does it, and
// what is said when it is done.
type action struct {
	path string
	form url.Values
	done string
}

// actionOf is what one of the page's buttons does, if that is left to do.
func actionOf(p *paymentDetail, name, reason string, amount int64) (action, bool) {
	sum, shown := strconv.FormatInt(amount, 10), money.Format(amount, p.Currency)
	switch {
	case name == "refund" && p.CanRefund():
		params := url.Values{"charge": {*p.ChargeID}, "amount": {sum}}
		if reason != "" {
			params.Set("reason", reason)
		}
		return action{"/v1/refunds", params, shown + " refunded."}, true
	case name == "capture" && p.CanCapture() && p.IntentID != nil:
		return action{"/v1/payment_intents/" + *p.IntentID + "/capture", url.Values{"amount_to_capture": {sum}},
			shown + " captured."}, true
	case name == "capture" && p.CanCapture():
		return action{"/v1/charges/" + p.ID + "/capture", url.Values{"amount": {sum}}, shown + " captured."}, true
	case name == "release" && p.CanCapture() && p.IntentID != nil:
		return action{"/v1/payment_intents/" + *p.IntentID + "/cancel", url.Values{}, "Hold released."}, true
	case name == "release" && p.CanCapture():
		return action{"/v1/refunds", url.Values{"charge": {p.ID}}, "Hold released."}, true
	case name == "cancel" && p.CanCancel():
		return action{"/v1/payment_intents/" + p.ID + "/cancel", url.Values{}, "Payment canceled."}, true
	}
	return action{}, false
}

// postPayment refunds, captures or releases. The key was made when the form was
// drawn, so that a form that is sent twice, or again after a crash, is one request.
func (s Pages) postPayment(r *http.Request) (*ui.Page, error) {
	key, typed := r.PostFormValue("key"), r.PostFormValue("amount")
	p, err := ui.Found(s.findPayment(r))
	if err != nil {
		return nil, err
	}
	again := paymentPage{Key: key, Typed: typed}
	amount, wrong := parseAmount(typed, p.Currency)
	if wrong != "" && asksForAmount(r.PathValue("action")) {
		again.Wrong = wrong
		return s.showPayment(r, http.StatusUnprocessableEntity, again)
	}
	do, possible := actionOf(p, r.PathValue("action"), r.PostFormValue("reason"), amount)
	if !possible && !s.sentBefore(r, p.AccountID, key) {
		again.Key = ui.NewIdempotencyKey("payment")
		again.Wrong = "The payment changed since you opened this page, so this action is no longer possible."
		return s.showPayment(r, http.StatusConflict, again)
	}
	if !possible { // the same form a second time: what it did is on the page already
		return ui.Redirect("/dashboard/payments/" + p.ID), nil
	}
	a, err := s.Call(r, p.AccountID, p.Livemode, http.MethodPost, do.path, key, do.form)
	if err != nil {
		return nil, err
	}
	if again.Wrong = ui.Refusal(a); again.Wrong == "" {
		return ui.RedirectWithNotice("/dashboard/payments/"+p.ID, do.done), nil
	}
	if again.Open = a.Open(); !again.Open {
		again.Key = ui.NewIdempotencyKey("payment") // that answer was the last one to this key
	}
	return s.showPayment(r, a.Status, again)
}

func asksForAmount(action string) bool { return action == "refund" || action == "capture" }

const keyIsTaken = `SELECT true AS taken FROM requests WHERE key = @key AND account_id = @account_id LIMIT 1`

func (s Pages) sentBefore(r *http.Request, accountID, key string) bool {
	found, err := ui.Read[struct{ Taken bool }](r.Context(), s.Pool, keyIsTaken,
		map[string]any{"key": key, "account_id": accountID})
	return err == nil && len(found) == 1
}
