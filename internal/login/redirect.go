package login

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode"
)

// wanted is the page that opens after the login: the one that was asked for, if it is a page.
func wanted(r *http.Request) string {
	to := OwnPage(r.FormValue("to"))
	if strings.HasPrefix(to, "/dashboard/log") || strings.HasPrefix(to, "/dashboard/stream") {
		return "/dashboard"
	}
	return to
}

// OwnPage is the address of a page of the dashboard, and "/dashboard" for any other address.
// http.Redirect cleans the path it is given, and browsers take a backslash for a slash, so
// only a path that is clean already, and contains none, still means what was checked here.
func OwnPage(address string) string {
	const home = "/dashboard"
	u, err := url.Parse(address)
	if err != nil || u.IsAbs() || u.Host != "" || strings.ContainsFunc(address+u.Path, unfitForRedirect) {
		return home
	}
	clean := path.Clean(u.Path)
	if clean != home && !strings.HasPrefix(clean, home+"/") {
		return home
	}
	return (&url.URL{Path: clean, RawQuery: u.RawQuery}).String()
}

func unfitForRedirect(r rune) bool { return r == '\\' || unicode.IsControl(r) }
