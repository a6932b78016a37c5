package api

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/challenge"
	"github.com/ratchet-pay/ratchet/internal/locale"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/web"
)

// challenges serves the page on which a test card's holder authenticates
// with their bank. It replaces the bank's page, which a merchant never sees.
func (s *Server) challenges() {
	s.echo.GET(payment.ChallengePath+":challenge", s.showChallenge)
	s.echo.POST(payment.ChallengePath+":challenge", s.decideChallenge)
}

// secured keeps the page to itself: its address opens it, and goes to no other site.
// A decision leads back to the shop. That "*" does not include a scheme of an
// application's own, so it is named. In a frame of ours the page is part of a merchant's
// page, of any site: all of them are its ancestors.
func secured(c echo.Context, back string) {
	app := ""
	if u, err := url.Parse(back); err == nil {
		app = u.Scheme
	}
	web.Policy{Framed: true, Embedded: framed(c), Leads: true, App: app}.Apply(c.Response().Header())
}

// framed says that a page of ours shows this one in a frame: that page polls
// how the challenge ended, and there is no redirect.
func framed(c echo.Context) bool { return c.QueryParams().Has("framed") }

func (s *Server) showChallenge(c echo.Context) error {
	found, err := challenge.Find(c.Request().Context(), s.engine.Pool(), c.Param("challenge"))
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
// any other client the page.
func (s *Server) whereItStands(c echo.Context, found *challenge.Challenge) error {
	if back := found.Return(); back != "" && !framed(c) && !found.Open() && !found.Undecided() {
		secured(c, back)
		return c.Redirect(http.StatusSeeOther, back)
	}
	return s.renderChallenge(c, statusOf(found), found)
}

// statusOf is 503 while the acquirer has not answered: a later look tells more.
func statusOf(found *challenge.Challenge) int {
	if found.Undecided() {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

func (s *Server) renderChallenge(c echo.Context, status int, found *challenge.Challenge) error {
	back, chosen := "", ""
	if found != nil {
		back, chosen = found.Return(), found.Locale
	}
	lang := locale.Choose(chosen, c.Request().Header.Get("Accept-Language"))
	secured(c, back)
	page := web.Page{Title: lang.Say("confirm_your_payment"), Layout: "buyer", Language: lang,
		Data: challengePage{found, status}}
	if framed(c) {
		page.Layout = "framed"
	}
	if status == http.StatusServiceUnavailable {
		c.Response().Header().Set("Refresh", "2")
	}
	s.site.Render(c.Response(), c.Request(), status, "checkout/challenge", page)
	return nil
}

// challengePage is a challenge as it is drawn.
type challengePage struct {
	*challenge.Challenge
	Code int // of the answer
}

// Mark is the icon of a challenge that is over.
func (p challengePage) Mark() string {
	if p.Failed() {
		return "cross"
	}
	return "check"
}

// decideChallenge takes the cardholder's decision and redirects. Clicked
// twice, the first decision counts, and both clicks end at the same place.
func (s *Server) decideChallenge(c echo.Context) error {
	ctx, name := c.Request().Context(), c.Param("challenge")
	found, err := challenge.Find(ctx, s.engine.Pool(), name)
	if err != nil || found == nil {
		return s.showChallenge(c)
	}
	x := s.startLog(c, payment.ChallengePath+"{challenge}")
	x.line.Add(slog.String("account", found.AccountID))
	c.Request().Body = http.MaxBytesReader(c.Response(), c.Request().Body, int64(s.limits.BodyBytes))
	passed := c.FormValue("result") == "pass"
	acting, received := acquirer.WithNotifications(s.context(c.Request()))
	answer, err := found.Decide(acting, s.engine, name, x.id, s.baseURL(c.Request()), s.acceptsNotifications(), passed)
	if err == nil {
		s.applyNotifications(acting, received)
	}
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
	if found, err = challenge.Find(ctx, s.engine.Pool(), name); err != nil || found == nil {
		return s.renderChallenge(c, http.StatusServiceUnavailable, nil)
	}
	return s.whereItStands(c, found)
}
