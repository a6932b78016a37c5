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
		ask := func(encoding string) (header http.Header, body string) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept-Encoding", encoding)
			response, err := s.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			content, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			return response.Header, string(content)
		}
		plainHeader, plain := ask("identity")
		zippedHeader, zipped := ask("gzip")
		if got := zippedHeader.Get("Content-Encoding"); got != "gzip" || len(zipped) > most {
			t.Errorf("%s has %d bytes in encoding %q, want at most %d in gzip", path, len(zipped), got, most)
		}
		if plainHeader.Get("Content-Encoding") != "" || zippedHeader.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: a cache may send it compressed to a client that cannot read it", path)
		}
		content, err := gzip.NewReader(strings.NewReader(zipped))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(content)
		if err != nil || string(body) != plain {
			t.Errorf("%s is another page when it is compressed (%v)", path, err)
		}
	}
}
