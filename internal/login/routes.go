package login

import (
	"net/http"

	"github.com/ratchet-pay/ratchet/internal/people"
)

// Routes adds the guard's own pages. Handle is a mux's.
func (g *Guard) Routes(handle func(pattern string, page http.Handler)) {
	handle(g.Open("GET /dashboard/login", g.showLogin))
	handle(g.Open("POST /dashboard/login", g.postLogin))
	handle(g.Open("GET /dashboard/login/code", g.showCode))
	handle(g.Open("POST /dashboard/login/code", g.postCode))
	handle(g.Own("POST /dashboard/logout", g.postLogout))

	handle(g.Own("GET /dashboard/account", g.account))
	handle(g.Own("POST /dashboard/account/password", g.postPassword))
	handle(g.Own("GET /dashboard/account/totp", g.totp))
	handle(g.Own("POST /dashboard/account/totp", g.postTOTP))
	handle(g.Own("POST /dashboard/account/sessions/{id}/end", g.postEndSession))

	handle(g.Act(people.Administer, "GET /dashboard/users", g.showUsers))
	handle(g.Act(people.Administer, "POST /dashboard/users", g.postUser))
	handle(g.Act(people.Administer, "POST /dashboard/users/{id}/{action}", g.postUserAction))
	handle(g.Closed("GET /dashboard/activity", g.activity))
}
