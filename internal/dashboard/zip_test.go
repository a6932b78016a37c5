package dashboard_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestDocumentsAreCompressed opens the largest pages as a browser does.
func TestDocumentsAreCompressed(t *testing.T) {
	t.Parallel()
	const most = 40_000 // bytes on the wire; a page with its styles and scripts has at most 100 KB
	s := newEnv(t, "")
	for _, path := range []string{"/docs/api/payment_intents", "/docs/api/customers", "/docs/api/refunds", "/docs"} {
		ask := func(encoding string) page {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept-Encoding", encoding)
			return s.do(t, r)
		}
		plain, zipped := ask("identity"), ask("gzip")
		if got := zipped.header.Get("Content-Encoding"); got != "gzip" || len(zipped.body) > most {
			t.Errorf("%s has %d bytes in encoding %q, want at most %d in gzip", path, len(zipped.body), got, most)
		}
		if plain.header.Get("Content-Encoding") != "" || zipped.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: a cache may send it compressed to a client that cannot read it", path)
		}
		content, err := gzip.NewReader(strings.NewReader(zipped.body))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(content)
		if err != nil || string(body) != plain.body {
			t.Errorf("%s is another page when it is compressed (%v)", path, err)
		}
	}
}
