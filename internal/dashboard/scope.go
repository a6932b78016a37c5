package dashboard

import (
	"net/http"

	"github.com/ratchet-pay/ratchet/internal/login"
)

const scopeCookie = "ratchet_scope"

// chosenScope is the account and mode that the browser chose before, or "".
func chosenScope(r *http.Request) string {
	cookie, err := login.Cookie(r, scopeCookie)
	if err != nil {
		return ""
	}
	return cookie.Value
}

func (s *Server) postScope(w http.ResponseWriter, r *http.Request) {
	login.SetCookie(w, r, scopeCookie, r.PostFormValue("scope"), 365*24*3600)
	http.Redirect(w, r, login.OwnPage(r.PostFormValue("back")), http.StatusSeeOther)
}
