package stripejs_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/stripejs"
	"github.com/ratchet-pay/ratchet/web"
)

func TestStripeJS(t *testing.T) {
	t.Parallel()
	rest := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	server := stripejs.New(web.New(web.Config{Log: slog.New(slog.DiscardHandler)}), rest)
	ask := func(method, path string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w
	}

	for path, train := range map[string]string{
		"/v3": "v3", "/v3/": "v3", "/v3/stripe.js": "v3", "/v3/?advancedFraudSignals=false": "v3",
		"/basil/stripe.js": "basil", "/clover/stripe.js": "clover", "/dahlia/stripe.js": "dahlia",
		"/endive/stripe.js": "endive",
	} {
		t.Run("the script is at "+path+", and any page may load it", func(t *testing.T) {
			t.Parallel()
			w := ask(http.MethodGet, path)
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `const train = "`+train+`";`) ||
				!strings.Contains(w.Body.String(), "window.Stripe") ||
				w.Header().Get("Content-Type") != "text/javascript; charset=utf-8" ||
				w.Header().Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%d %v", w.Code, w.Header())
			}
		})
	}

	t.Run("a browser that has the script is answered 304", func(t *testing.T) {
		t.Parallel()
		tag := ask(http.MethodGet, "/v3/").Header().Get("ETag")
		if w := ask(http.MethodGet, "/v3/", "If-None-Match", tag); w.Code != http.StatusNotModified {
			t.Errorf("%d", w.Code)
		}
	})

	for _, name := range []string{"controller", "elements-inner-payment", "elements-inner-card",
		"elements-inner-card-part", "elements-inner-address",
		"elements-inner-link-authentication", "elements-inner-currency-selector",
		"elements-inner-unavailable", "three-ds-2-challenge"} {
		t.Run("any site may show the frame "+name+", which runs our scripts alone", func(t *testing.T) {
			t.Parallel()
			w := ask(http.MethodGet, "/v3/"+name+".html")
			policy := w.Header().Get("Content-Security-Policy")
			if w.Code != http.StatusOK || !strings.Contains(policy, "frame-ancestors *;") ||
				!strings.Contains(policy, "default-src 'none'; script-src 'self'; style-src 'self'") ||
				!strings.Contains(policy, "connect-src 'self'") {
				t.Errorf("%d %s", w.Code, policy)
			}
			if strings.Contains(w.Body.String(), "<style") || strings.Contains(w.Body.String(), " style=") {
				t.Error("the page has a style that its policy forbids")
			}
		})
	}

	for _, path := range []string{"/", "/v1/charges", "/v3/none.html", "/v3/controller", "/v3/a/b", "/acacia/stripe.js",
		"//v3/", "/v4/"} {
		t.Run(path+" is not the script's", func(t *testing.T) {
			t.Parallel()
			if w := ask(http.MethodGet, path); w.Code != http.StatusTeapot {
				t.Errorf("%d", w.Code)
			}
		})
	}

	t.Run("only reading is answered", func(t *testing.T) {
		t.Parallel()
		if w := ask(http.MethodPost, "/v3/"); w.Code == http.StatusOK {
			t.Errorf("%d", w.Code)
		}
	})
}
