// Package ui is what the pages of the dashboard share: the response of a handler, lists with their filters and files,
// the account and mode that a page shows, and calls of the API for forms.
package ui

import (
	"errors"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/recent"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/supervisor"
	"github.com/ratchet-pay/ratchet/web"
)

// Env holds what a page needs. Pages read through the pool, and change the API's objects only through the API.
type Env struct {
	Pool     *pgxpool.Pool
	API      http.Handler
	Recent   *recent.Log      // requests that left no row
	Acquirer acquirer.Reports // nil if its books cannot be read
	Roots    *secret.Roots
	Demo     bool
	Shop     bool   // this installation has the demo's shop
	HTTPS    bool   // browsers reach the pages over HTTPS
	Operator string // what an operator types before "keys create"

	Supervisor *supervisor.Client // of the demo, which kills its processes; nil: no page does

	Chosen func(*http.Request) string // the scope that the browser chose
	Token  func(*http.Request) string // what a form of ours carries
}

// Handler answers a request for a page. An error that is not ErrNotFound says that the database or the API failed.
type Handler func(*http.Request) (*Page, error)

// ErrNotFound says that the address names no object.
var ErrNotFound = errors.New("page not found")

// Page is an answer: a template with its data, a file, or the way to another page.
type Page struct {
	web.Page
	Template string
	Status   int

	To    string // the address that the browser opens next; "" shows the template
	Said  string // a sentence for the page at To
	Wrong bool   // the sentence is about something that failed

	Send func(http.ResponseWriter) error // writes a file instead
}

// Show answers 200 with a page of the template.
func Show(template string, page web.Page) *Page { return ShowAs(http.StatusOK, template, page) }

// ShowAs answers with a page and a status.
func ShowAs(status int, template string, page web.Page) *Page {
	page.Dashboard = true
	return &Page{Page: page, Template: template, Status: status}
}

// List answers with a page that shows one account, and lets the reader choose another.
func List(of Scope, template, here, title string, data any) *Page {
	return Show(template, web.Page{Title: title, Here: here, Scopes: of.All, Data: data})
}

// Redirect sends the browser to another page (303).
func Redirect(address string) *Page { return &Page{To: address} }

// RedirectWithNotice sends the browser to another page, which shows the text as a success.
func RedirectWithNotice(address, text string) *Page { return &Page{To: address, Said: text} }

// RedirectWithError sends the browser to another page, which shows the text as an error.
func RedirectWithError(address, text string) *Page {
	return &Page{To: address, Said: text, Wrong: true}
}

// Found passes an object on, or ErrNotFound if there is none.
func Found[T any](object *T, err error) (*T, error) {
	if err == nil && object == nil {
		err = ErrNotFound
	}
	return object, err
}

// Change is a field of an object: what it was, and what it is.
type Change struct{ Name, Was, Is string }
