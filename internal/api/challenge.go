package api

import (
	_ "embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/payments"
)

//go:embed challenge.html
var challengeHTML string

var challengePage = template.Must(template.New("challenge").Funcs(template.FuncMap{"money": money.Format}).Parse(challengeHTML))

// challenges serves the page on which a test card's holder authenticates himself
// to his bank. It stands for the bank's own page, which nobody of us would see.
func (s *Server) challenges() {
	s.echo.GET(payments.ChallengePath+":challenge", s.showChallenge)
	s.echo.POST(payments.ChallengePath+":challenge", s.decideChallenge)
}

// The address of a challenge is what opens it: it goes to nobody else, and no
// other site can show it in a frame of its own. Our checkout can.
func secured(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action *; frame-ancestors 'self'; base-uri 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

func (s *Server) showChallenge(c echo.Context) error {
	found, err := payments.FindChallenge(c.Request().Context(), s.engine.Pool(), c.Param("challenge"))
	if err != nil {
		s.log.Error("challenge", "error", err)
		return s.renderChallenge(c, http.StatusServiceUnavailable, nil)
	}
	if found == nil {
		return s.renderChallenge(c, http.StatusNotFound, nil)
	}
	return s.whereItStands(c, found)
}

// whereItStands sends a cardholder who has decided back to the shop, and shows
// anybody else the page.
func (s *Server) whereItStands(c echo.Context, found *payments.Challenge) error {
	if back := found.Return(); back != "" && !found.Open() && !found.Undecided() {
		secured(c.Response().Header())
		return c.Redirect(http.StatusSeeOther, back)
	}
	return s.renderChallenge(c, statusOf(found), found)
}

// statusOf is 503 while the acquirer has not answered: a later look tells more.
func statusOf(found *payments.Challenge) int {
	if found.Undecided() {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

func (s *Server) renderChallenge(c echo.Context, status int, found *payments.Challenge) error {
	secured(c.Response().Header())
	c.Response().Header().Set("Content-Type", "text/html; charset=utf-8")
	c.Response().WriteHeader(status)
	return challengePage.Execute(c.Response(), struct {
		*payments.Challenge
		Status int
	}{found, status})
}

// decideChallenge takes the cardholder's decision and sends him back. Clicked
// twice, the first decision counts, and both clicks end at the same place.
func (s *Server) decideChallenge(c echo.Context) error {
	ctx, name := c.Request().Context(), c.Param("challenge")
	found, err := payments.FindChallenge(ctx, s.engine.Pool(), name)
	if err != nil || found == nil {
		return s.showChallenge(c)
	}
	x := s.begin(c, payments.ChallengePath+"{challenge}")
	x.line.Add(slog.String("account", found.AccountID))
	c.Request().Body = http.MaxBytesReader(c.Response(), c.Request().Body, int64(s.limits.BodyBytes))
	passed := c.FormValue("result") == "pass"
	answer, err := found.Decide(s.context(c.Request()), s.engine, name, x.id, s.baseURL(c.Request()), s.hearsNews(), passed)
	x.refused(err)
	status := answer.Status
	if err != nil {
		status = http.StatusServiceUnavailable
	}
	var over *apierror.Error
	if errors.As(err, &over) {
		status = over.Status
	}
	x.finish(ctx, s.log, status, answer.Replayed)
	if err != nil && status != http.StatusBadRequest {
		return s.renderChallenge(c, http.StatusServiceUnavailable, found)
	}
	if found, err = payments.FindChallenge(ctx, s.engine.Pool(), name); err != nil || found == nil {
		return s.renderChallenge(c, http.StatusServiceUnavailable, nil)
	}
	return s.whereItStands(c, found)
}
