package login

import "net/http"

// secureKey marks requests of an installation that browsers reach over HTTPS, although the
// proxy in front of it ends TLS and none arrives here.
type secureKey struct{}

func secure(r *http.Request) bool {
	https, _ := r.Context().Value(secureKey{}).(bool)
	return https
}

// cookieName is a cookie's name in the browser. Under __Host- the browser keeps it from http and from
// other hosts of the domain, which could set it otherwise.
func cookieName(r *http.Request, name string) string {
	if secure(r) {
		return "__Host-" + name
	}
	return name
}

// Cookie returns one of the dashboard's cookies, or http.ErrNoCookie. Over HTTPS its name has the prefix __Host-.
func Cookie(r *http.Request, name string) (*http.Cookie, error) { return r.Cookie(cookieName(r, name)) }

// SetCookie sets one of the dashboard's cookies for some seconds; 0: until the browser closes, -1: no longer.
func SetCookie(w http.ResponseWriter, r *http.Request, name, value string, seconds int) {
	//nolint:gosec // Secure where the request came by https; a demo on this machine has no certificate
	http.SetCookie(w, &http.Cookie{Name: cookieName(r, name), Value: value, Path: "/", MaxAge: seconds,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure(r)})
}
