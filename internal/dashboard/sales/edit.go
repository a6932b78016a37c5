package sales

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/web"
)

// edited are the parameters of a form that edits texts and metadata. An empty text
// is sent, too: it clears the field. An entry of the metadata whose name or value
// was emptied is removed.
func edited(r *http.Request, was json.RawMessage, texts ...string) url.Values {
	params := url.Values{}
	for _, name := range texts {
		params.Set(name, strings.TrimSpace(r.PostFormValue(name)))
	}
	for _, entry := range web.Metadata(was) {
		params.Set("metadata["+entry.Name+"]", "")
	}
	values := r.PostForm["meta_value"]
	for i, name := range r.PostForm["meta_name"] {
		if name = strings.TrimSpace(name); name != "" && i < len(values) {
			params.Set("metadata["+name+"]", values[i])
		}
	}
	return params
}

// postPaymentEdit changes what a payment is described as.
func (s Pages) postPaymentEdit(r *http.Request) (*ui.Page, error) {
	p, err := ui.Found(s.findPayment(r))
	if err != nil {
		return nil, err
	}
	path := "/v1/charges/" + p.ID
	if p.IntentID != nil {
		path = "/v1/payment_intents/" + p.ID
	}
	a, err := s.Call(r, p.AccountID, p.Livemode, http.MethodPost, path, r.PostFormValue("key"),
		edited(r, p.Metadata, "description"))
	return ui.RespondTo(a, err, "Payment updated.", "/dashboard/payments/"+p.ID)
}

// postCustomerEdit changes a customer's profile.
func (s Pages) postCustomerEdit(r *http.Request) (*ui.Page, error) {
	c, err := s.findCustomer(r)
	if err != nil {
		return nil, err
	}
	if c == nil || c.DeletedAt != nil {
		return nil, ui.ErrNotFound
	}
	path := "/v1/customers/" + url.PathEscape(c.ID)
	a, err := s.Call(r, c.AccountID, c.Livemode, http.MethodPost, path, r.PostFormValue("key"),
		edited(r, c.Metadata, "name", "email", "phone", "description"))
	return ui.RespondTo(a, err, "Customer updated.", "/dashboard/customers/"+url.PathEscape(c.ID))
}

// evidenceFields are the texts that a dispute's form has room for; the API takes more.
var evidenceFields = []formField{
	{
		Name:  "uncategorized_text",
		Label: "What happened",
		Type:  "area",
		Hint:  "In test mode, enter winning_evidence or losing_evidence to choose the outcome.",
	},
	{Name: "product_description", Label: "Product description", Type: "area"},
	{Name: "customer_name", Label: "Customer name", Type: "text"},
	{Name: "customer_email_address", Label: "Customer email", Type: "text"},
	{Name: "shipping_carrier", Label: "Shipping carrier", Type: "text"},
	{Name: "shipping_tracking_number", Label: "Tracking number", Type: "text"},
	{Name: "refund_refusal_explanation", Label: "Why the customer isn’t owed a refund", Type: "area"},
}

// evidenceText is one text that was saved or submitted.
type evidenceText struct{ Name, Label, Text string }

// labelOf is what the form calls a text, or "" if only the API takes it.
func labelOf(name string) string {
	for _, f := range evidenceFields {
		if f.Name == name {
			return f.Label
		}
	}
	return ""
}

// Fields is the evidence form, with what was saved before. If nothing was, it has who paid.
func (p disputePage) Fields() (all []formField) {
	saved := map[string]string{}
	if len(p.Said()) == 0 {
		saved["customer_name"], saved["customer_email_address"] = p.Payer.Name, p.Payer.Email
	}
	for _, given := range p.Said() {
		saved[given.Name] = given.Text
	}
	for _, f := range evidenceFields {
		f.Value = saved[f.Name]
		all = append(all, f)
	}
	return all
}

// evidenceOf are the parameters for the evidence that a form has, and whether it has any.
func evidenceOf(r *http.Request) (params url.Values, any bool) {
	params = url.Values{"submit": {strconv.FormatBool(r.PostFormValue("submit") == "true")}}
	for _, f := range evidenceFields {
		text := strings.TrimSpace(r.PostFormValue(f.Name))
		params.Set("evidence["+f.Name+"]", text)
		any = any || text != ""
	}
	return params, any
}

// postDispute saves or submits evidence, or accepts the dispute.
func (s Pages) postDispute(r *http.Request) (*ui.Page, error) {
	d, err := ui.Found(s.findDispute(r))
	if err != nil {
		return nil, err
	}
	back, path, key := "/dashboard/disputes/"+d.ID, "/v1/disputes/"+d.ID, r.PostFormValue("key")
	params, done := url.Values{}, "Dispute accepted."
	sure, submit := r.PostFormValue("sure") == "yes", r.PostFormValue("submit") == "true"
	switch action := r.PathValue("action"); {
	case action == "evidence":
		var any bool
		if params, any = evidenceOf(r); submit && !any {
			return ui.RedirectWithError(back, "Nothing was sent. Enter your evidence first."), nil
		}
		if submit && !sure {
			return ui.RedirectWithError(back, "Nothing was sent. Check the box to submit the evidence."), nil
		}
		key += map[bool]string{true: "-submit", false: "-save"}[submit] // the same form can be saved, then submitted
		done = map[bool]string{true: "Evidence submitted.", false: "Draft saved. Nothing was sent to the bank."}[submit]
	case action == "accept" && sure:
		path += "/close"
	case action == "accept":
		return ui.RedirectWithError(back, "Nothing changed. Check the box to accept the dispute."), nil
	default:
		return nil, ui.ErrNotFound
	}
	a, err := s.Call(r, d.AccountID, d.Livemode, http.MethodPost, path, key, params)
	return ui.RespondTo(a, err, done, back)
}
