package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestSampleEnv(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, _, _ := r.BasicAuth()
		switch {
		case key != demoSecretKey || r.Header.Get("Idempotency-Key") == "":
			http.Error(w, `{"error":{"message":"no key"}}`, http.StatusUnauthorized)
		case r.URL.Path == "/v1/prices" && slices.Contains([]string{"1000", "2000"}, r.PostFormValue("unit_amount")):
			_, _ = w.Write([]byte(`{"id":"price_1"}`))
		case r.URL.Path == "/v1/webhook_endpoints" && r.Host != "":
			_, _ = w.Write([]byte(`{"id":"we_1","secret":"whsec_1"}`))
		default:
			http.Error(w, `{"error":{"message":"not expected"}}`, http.StatusBadRequest)
		}
	}))
	t.Cleanup(api.Close)

	t.Run("a sample that sells something gets its price and the webhook's secret", func(t *testing.T) {
		t.Parallel()
		text, err := sampleEnv(api.URL, "prebuilt-checkout-page")
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"STRIPE_SECRET_KEY=sk_test_ratchet_demo", "PRICE=price_1",
			"STRIPE_WEBHOOK_SECRET=whsec_1", "DOMAIN=http://localhost:4242"} {
			if !strings.Contains(text, line+"\n") {
				t.Errorf("%q lacks %s", text, line)
			}
		}
	})

	t.Run("every sample gets a file, with a price only if it sells one", func(t *testing.T) {
		t.Parallel()
		for name := range samples {
			text, err := sampleEnv(api.URL, name)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			sells := name == "prebuilt-checkout-page" || name == "checkout-one-time-payments"
			if strings.Contains(text, "PRICE=") != sells || !strings.Contains(text, "STRIPE_WEBHOOK_SECRET=whsec_1\n") {
				t.Errorf("%s gets %q", name, text)
			}
		}
	})

	t.Run("without a demo there is an error that names the address", func(t *testing.T) {
		t.Parallel()
		_, err := sampleEnv("http://127.0.0.1:1", "prebuilt-checkout-page")
		if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
			t.Errorf("%v", err)
		}
	})
}
