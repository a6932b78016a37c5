// Package webtest reads pages as tests compare them: by what a browser shows, however their templates are broken into
// lines.
package webtest

import (
	"io"
	"net/http"
	"strings"

	"github.com/ratchet-pay/ratchet/web"
)

// Read reads the body of a response. A page it returns compact, and anything else as it is.
func Read(r *http.Response) (string, error) {
	body, err := io.ReadAll(r.Body)
	if strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
		return web.Compact(string(body)), err
	}
	return string(body), err
}
