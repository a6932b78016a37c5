package design

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
)

// captured is an answer that has not been sent.
type captured struct {
	to     http.ResponseWriter
	status int
	body   bytes.Buffer
}

// capture runs a handler and keeps what it writes.
func capture(c echo.Context, next echo.HandlerFunc) *captured {
	a := &captured{to: c.Response().Writer}
	c.Response().Writer = a
	if err := next(c); err != nil {
		c.Error(err) // writes it into the answer
	}
	c.Response().Writer = a.to
	return a
}

func (a *captured) Header() http.Header            { return a.to.Header() }
func (a *captured) WriteHeader(status int)         { a.status = status }
func (a *captured) Write(body []byte) (int, error) { return a.body.Write(body) }

// send sends the answer at once, and as a whole: without its length, net/http would send the end of it when the
// handler returns.
func (a *captured) send() {
	a.to.Header().Set("Content-Length", strconv.Itoa(a.body.Len()))
	a.to.WriteHeader(a.status)
	_, _ = a.to.Write(a.body.Bytes()) // a client that has gone reads nothing
	_ = http.NewResponseController(a.to).Flush()
}
