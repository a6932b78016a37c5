package api

import (
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/ratchet-pay/ratchet/web"
)

// missing handles an unknown path.
func (s *Server) missing(c echo.Context) {
	x := s.startLog(c, unknownRoute)
	if !s.forPeople(c.Request()) {
		s.writeError(c, x, unknownURL(c.Request()))
		return
	}
	web.Policy{}.Apply(c.Response().Header())
	s.site.Render(c.Response(), c.Request(), http.StatusNotFound, "site/missing",
		web.Page{Title: "Not found", Data: c.Request().URL.Path})
	x.finish(c.Request().Context(), s.log, http.StatusNotFound, false)
}

// forPeople is true of a browser that asks for a page, where there are pages. A
// client of the API accepts anything and gets the API's error, and so does every
// other request under /v1.
func (s *Server) forPeople(h *http.Request) bool {
	return s.pages && !strings.HasPrefix(path.Clean(h.URL.Path)+"/", "/v1/") &&
		strings.Contains(h.Header.Get("Accept"), "text/html")
}
