package dashboard

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ratchet-pay/ratchet/internal/login"
	"github.com/ratchet-pay/ratchet/web"
)

// A view is a list with its filters, under a name. The browser keeps its views in a cookie: they
// are a convenience of one reader, and the lists of other readers do not change.
const (
	viewsCookie  = "ratchet_views"
	viewsMost    = 20
	viewNameMost = 40   // characters
	viewsBytes   = 3000 // a browser keeps 4,096 bytes of a cookie
)

// viewed are the pages whose filters can be saved.
var viewed = []string{"/dashboard/payments", "/dashboard/customers", "/dashboard/links", "/dashboard/checkout",
	"/dashboard/products", "/dashboard/disputes", "/dashboard/emails", "/dashboard/balance", "/dashboard/payouts",
	"/dashboard/requests", "/dashboard/idempotency", "/dashboard/events", "/dashboard/charts"}

// view is one, as the cookie has it: its name and its address.
type view struct{ Name, Address string }

func keptViews(r *http.Request) (kept []view) {
	cookie, err := login.Cookie(r, viewsCookie)
	if err != nil {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || json.Unmarshal(text, &kept) != nil {
		return nil
	}
	return slices.DeleteFunc(kept, func(v view) bool { return v.Name == "" || filterAddress(v.Address) != v.Address })
}

// filterAddress is the address of a list with its filters, and without its page; "" for another page.
func filterAddress(address string) string {
	u, err := url.Parse(login.OwnPage(address))
	if err != nil || !slices.Contains(viewed, u.Path) {
		return ""
	}
	query := u.Query()
	query.Del("before")
	query.Del("after")
	if len(query) == 0 {
		return u.Path
	}
	return u.Path + "?" + query.Encode()
}

// viewsOf are the views of the page that a request asks for; nil for a page that has none.
func viewsOf(r *http.Request) *web.Views {
	here := filterAddress(r.URL.RequestURI())
	if r.Method != http.MethodGet || here == "" {
		return nil
	}
	shown := &web.Views{Here: here, Savable: strings.Contains(here, "?")}
	for _, v := range keptViews(r) {
		if path, _, _ := strings.Cut(v.Address, "?"); path == r.URL.Path {
			shown.All = append(shown.All, web.View{Word: v.Name, Href: v.Address, Current: v.Address == here})
			shown.Savable = shown.Savable && v.Address != here
		}
	}
	return shown
}

// postView saves the filters of a list under a name, or forgets them.
func (s *Server) postView(w http.ResponseWriter, r *http.Request) {
	address := filterAddress(r.PostFormValue("address"))
	name := strings.Join(strings.Fields(r.PostFormValue("name")), " ")
	if address == "" {
		s.notFound(w, r)
		return
	}
	back := func() { http.Redirect(w, r, address, http.StatusSeeOther) }
	if name == "" || utf8.RuneCountInString(name) > viewNameMost {
		login.Complain(w, r, "Enter a name of at most 40 characters.")
		back()
		return
	}
	path, _, _ := strings.Cut(address, "?")
	kept := slices.DeleteFunc(keptViews(r), func(v view) bool {
		other, _, _ := strings.Cut(v.Address, "?")
		return other == path && v.Name == name
	})
	said := "View removed."
	if r.PostFormValue("forget") == "" {
		kept, said = append(kept, view{name, address}), "View saved in this browser."
	}
	text, err := json.Marshal(kept)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if len(kept) > viewsMost || len(text) > viewsBytes {
		login.Complain(w, r, "This browser has too many views. Remove one first.")
		back()
		return
	}
	login.SetCookie(w, r, viewsCookie, base64.RawURLEncoding.EncodeToString(text), 365*24*3600)
	login.Say(w, r, said)
	back()
}
