package checkout_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestShippingWithoutJavaScript chooses how to ship an order as a browser without JavaScript does.
func TestShippingWithoutJavaScript(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	option := func(i, name, amount string) url.Values {
		at := "shipping_options[" + i + "][shipping_rate_data]"
		return url.Values{
			at + "[display_name]":                      {name},
			at + "[fixed_amount][amount]":              {amount},
			at + "[fixed_amount][currency]":            {"usd"},
			at + "[delivery_estimate][maximum][unit]":  {"business_day"},
			at + "[delivery_estimate][maximum][value]": {"5"},
		}
	}
	path := s.session(t, option("0", "Standard", "500"), option("1", "Express", "1500"))
	shown := s.do(t, http.MethodGet, path, nil).body
	for _, text := range []string{"Pay $20.00", "Standard", "$5.00", "At most 5 business days", "Express",
		"Update the total", `name="total" value="2000"`} {
		if !strings.Contains(shown, text) {
			t.Errorf("the page does not show %q", text)
		}
	}
	_, rest, _ := strings.Cut(shown[:strings.Index(shown, `data-name="Express"`)], `data-name="Standard"`)
	_, rest, _ = strings.Cut(rest, `value="`)
	express, _, _ := strings.Cut(rest, `"`)

	chosen := form(card(t, "visa"))
	chosen.Set("shipping", express)
	chosen.Set("total", "2000")

	t.Run("the total is updated, and what was typed stays", func(t *testing.T) {
		update := url.Values{"update": {"shipping"}}
		for name, values := range chosen {
			update[name] = values
		}
		got := s.do(t, http.MethodPost, path, update)
		if got.status != http.StatusOK || !strings.Contains(got.body, "Pay $30.00") ||
			!strings.Contains(got.body, `name="total" value="3000"`) ||
			!strings.Contains(got.body, "jenny@example.com") || s.requests(t) != 0 {
			t.Errorf("answered %d after %d requests: %s", got.status, s.requests(t), got.body)
		}
	})

	t.Run("a total that the page did not show is not charged", func(t *testing.T) {
		got := s.do(t, http.MethodPost, path, chosen)
		if got.status != http.StatusConflict || !strings.Contains(got.body, "The total is now $30.00.") ||
			s.requests(t) != 0 {
			t.Errorf("answered %d after %d requests: %s", got.status, s.requests(t), got.body)
		}
	})

	t.Run("the total that the page showed is charged, and the receipt has it", func(t *testing.T) {
		chosen.Set("total", "3000")
		if got := s.do(t, http.MethodPost, path, chosen); got.status != http.StatusSeeOther {
			t.Fatalf("answered %d: %s", got.status, got.body)
		}
		receipt := s.do(t, http.MethodGet, path, nil).body
		if !strings.Contains(receipt, "$30.00") || !strings.Contains(receipt, "Express") {
			t.Errorf("the receipt is %s", receipt)
		}
		var charged int64
		err := s.db.Pool.QueryRow(t.Context(), `SELECT sum(amount) FROM charges WHERE status = 'succeeded'`).
			Scan(&charged)
		if err != nil || charged != 3000 {
			t.Errorf("charged %d, %v", charged, err)
		}
	})
}

// TestCustomText shows the merchant's own texts where they belong, and never as HTML.
func TestCustomText(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	texts := url.Values{
		"custom_text[submit][message]":                      {"We <b>print</b> it today."},
		"custom_text[after_submit][message]":                {"Sent by mail."},
		"custom_text[shipping_address][message]":            {"Not on Sundays."},
		"custom_text[terms_of_service_acceptance][message]": {"Our terms hold."},
	}
	for i, name := range []string{"Standard", "Express"} {
		at := fmt.Sprintf("shipping_options[%d][shipping_rate_data]", i)
		texts[at+"[display_name]"] = []string{name}
		texts[at+"[fixed_amount][amount]"] = []string{"500"}
		texts[at+"[fixed_amount][currency]"] = []string{"usd"}
	}
	shown := s.do(t, http.MethodGet, s.session(t, texts), nil).body
	at := 0
	for _, text := range []string{"Not on Sundays.", "Our terms hold.", "We &lt;b&gt;print&lt;/b&gt; it today.",
		`data-testid="hosted-payment-submit-button"`, "Sent by mail."} {
		next := strings.Index(shown[at:], text)
		if next < 0 {
			t.Fatalf("%q is not on the page, or comes too early", text)
		}
		at += next
	}

	key := []string{"Authorization", "Bearer " + s.key}
	long := url.Values{
		"line_items[0][quantity]": {"1"}, "line_items[0][price_data][currency]": {"usd"},
		"line_items[0][price_data][unit_amount]":        {"1500"},
		"line_items[0][price_data][product_data][name]": {"Sledge"},
		"custom_text[submit][message]":                  {strings.Repeat("ä", 1201)},
	}
	if got := s.do(t, http.MethodPost, "/v1/payment_links", long, key...); got.status != http.StatusBadRequest {
		t.Errorf("a text of 1,201 characters was answered %d %s", got.status, got.body)
	}
	long.Set("custom_text[submit][message]", strings.Repeat("ä", 1200))
	var link struct {
		ID, URL string
		Text    struct{ Submit *struct{ Message string } } `json:"custom_text"`
	}
	s.decode(t, s.do(t, http.MethodPost, "/v1/payment_links", long, key...), &link)
	visit := s.do(t, http.MethodGet, strings.TrimPrefix(link.URL, s.server.URL), nil)
	if !strings.Contains(s.do(t, http.MethodGet, visit.header.Get("Location"), nil).body, link.Text.Submit.Message) {
		t.Error("the link's session does not show the link's text")
	}
	s.decode(t, s.do(t, http.MethodPost, "/v1/payment_links/"+link.ID, url.Values{"custom_text[submit]": {""}}, key...),
		&link)
	if link.Text.Submit != nil {
		t.Errorf("the text is still %q", link.Text.Submit.Message)
	}
}

// TestPhoneNumber sees that the page asks for a phone number only if the session collects it.
func TestPhoneNumber(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	if without := s.do(t, http.MethodGet, s.session(t), nil).body; strings.Contains(without, `name="phoneNumber"`) {
		t.Error("the page asks for a phone number that the session does not collect")
	}
	path := s.session(t, url.Values{
		"phone_number_collection[enabled]": {"true"}, "customer_creation": {"always"},
	})
	typed := form(card(t, "visa"))
	typed.Del("phoneNumber")
	if got := s.do(t, http.MethodPost, path, typed); got.status != http.StatusUnprocessableEntity {
		t.Errorf("without a phone number, paying was answered %d", got.status)
	}
	typed.Set("phoneNumber", "+1 555 0100")
	if got := s.do(t, http.MethodPost, path, typed); got.status != http.StatusSeeOther {
		t.Fatalf("paying was answered %d %s", got.status, got.body)
	}
	var session struct {
		Details  struct{ Phone string } `json:"customer_details"`
		Customer struct{ Phone string }
	}
	s.decode(t, s.do(t, http.MethodGet, "/v1/checkout/sessions/"+strings.TrimPrefix(path, "/c/pay/")+
		"?expand[]=customer", nil, "Authorization", "Bearer "+s.key), &session)
	if session.Details.Phone != "+1 555 0100" || session.Customer.Phone != "+1 555 0100" {
		t.Errorf("the session has %+v", session)
	}
}
