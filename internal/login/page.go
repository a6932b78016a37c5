package login

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/ratchet-pay/ratchet/web"
)

// Problem is a page that could not be made, and the way on from it: the data of dashboard/problem.
type Problem struct{ Heading, Text, Href, Way string }

// Render sends a page, with what every page carries along.
func (g *Guard) Render(w http.ResponseWriter, r *http.Request, status int, name string, page web.Page) {
	page.CSRF = g.Token(r)
	g.dress(r, &page)
	page.Flash, page.Wrong = flash(w, r)
	g.Site.Render(w, r, status, name, page)
}

// Fail answers a request that the database or the API let down.
func (g *Guard) Fail(w http.ResponseWriter, r *http.Request, err error) {
	g.Log.Error("dashboard", "path", r.URL.Path, "error", err)
	g.Render(w, r, http.StatusServiceUnavailable, "dashboard/problem", web.Page{Title: "Not available", Dashboard: true,
		Data: Problem{"This page is unavailable right now",
			"The database didn’t respond as expected. Nothing changed. Reload to try again.", "/dashboard",
			"Go to overview"}})
}

// notOurs answers a form that another site has sent, or a page of ours that is too old.
func (g *Guard) notOurs(w http.ResponseWriter, r *http.Request) {
	g.Render(w, r, http.StatusForbidden, "dashboard/problem", web.Page{
		Title:     "Form not verified",
		Dashboard: g.Known(r),
		Data: Problem{"We couldn’t verify this form",
			"The page may be out of date. Nothing changed. Go back, reload the page and try again.", "/dashboard",
			"Go to overview"},
	})
}

// Say leaves a sentence for the next page.
func Say(w http.ResponseWriter, r *http.Request, text string) {
	SetCookie(w, r, flashCookie, base64.RawURLEncoding.EncodeToString([]byte(text)), 60)
}

// Complain leaves one that says what went wrong.
func Complain(w http.ResponseWriter, r *http.Request, text string) { Say(w, r, wrongMark+text) }

// wrongMark is in front of a sentence about what went wrong.
const wrongMark = "!"

// flash is the sentence that was left, once.
func flash(w http.ResponseWriter, r *http.Request) (text string, wrong bool) {
	cookie, err := Cookie(r, flashCookie)
	if err != nil {
		return "", false
	}
	SetCookie(w, r, flashCookie, "", -1)
	left, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(string(left), wrongMark)
}
