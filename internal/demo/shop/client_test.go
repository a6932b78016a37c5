package shop

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85/webhook"
)

func TestARefusalIsRepeatedWhereThatCanHelp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		retry  string // the API's own word on it
		times  int
	}{
		{"a wrong parameter", http.StatusBadRequest, "", 1},
		{"no such object", http.StatusNotFound, "", 1},
		{"the key is busy", http.StatusConflict, "", 2},
		{"too much is asked", http.StatusTooManyRequests, "", 2},
		{"a database that is away", http.StatusServiceUnavailable, "", 2},
		{"a request that is held", http.StatusInternalServerError, "false", 1},
		{"a conflict that ends by itself", http.StatusBadRequest, "true", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				asked = append(asked, r.Header.Get("Idempotency-Key")+" "+string(body))
				if len(asked) > 1 {
					_, _ = io.WriteString(w, `{"id": "cs_1"}`)
					return
				}
				w.Header().Set("Stripe-Should-Retry", c.retry)
				w.Header().Set("Request-Id", "req_1")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, `{"error": {"type": "api_error", "code": "why", "message": "Because."}}`)
			}))
			defer there.Close()
			var session checkoutSession
			err := newClient(there.URL, "sk_test_shop").
				post(t.Context(), "/v1/checkout/sessions", "order_1", url.Values{"mode": {"payment"}}, &session)
			if len(asked) != c.times || asked[0] != "order_1 mode=payment" || asked[len(asked)-1] != asked[0] {
				t.Errorf("it asked %q", asked)
			}
			if c.times == 2 {
				if err != nil || session.ID != "cs_1" {
					t.Errorf("in the end: %+v, %v", session, err)
				}
				return
			}
			var refused *refusal
			if !errors.As(err, &refused) || *refused != (refusal{c.status, "req_1", "api_error", "why", "Because."}) {
				t.Errorf("it says %v", err)
			}
		})
	}
}

// Stripe's own library signs here, as it does for tests of those who use it.
func TestASignatureHoldsWhileTheSecretIsRolled(t *testing.T) {
	t.Parallel()
	now := time.Now()
	body := []byte(`{"id": "evt_1"}`)
	older := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{
		Payload:   body,
		Secret:    "whsec_older",
		Timestamp: now,
	})
	newer := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{
		Payload:   body,
		Secret:    "whsec_newer",
		Timestamp: now,
	})
	both := newer.Header + older.Header[len("t=")+10:]
	for _, secret := range []string{"whsec_older", "whsec_newer"} {
		if err := verify(body, both, secret, now); err != nil {
			t.Errorf("with %s, %s: %v", secret, both, err)
		}
	}
	if err := verify(body, both, "whsec_third", now); !errors.Is(err, errForged) {
		t.Errorf("with a third secret: %v", err)
	}
	if err := verify(body, newer.Header, "whsec_newer", now.Add(oldest+time.Second)); !errors.Is(err, errTooOld) {
		t.Errorf("too late: %v", err)
	}
	if err := verify(body, "v1=00", "whsec_newer", now); !errors.Is(err, errNoSignature) {
		t.Errorf("without a time: %v", err)
	}
}
