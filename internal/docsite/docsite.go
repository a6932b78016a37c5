// Package docsite shows the documentation, the API reference and the error codes.
// The samples of the reference are made from the contract's examples, and a demo
// runs them. The package that serves the pages also renders them: see Config.
package docsite

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/lab/page"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

// Config is what the pages need.
type Config struct {
	Pool *pgxpool.Pool
	Demo bool // samples can be run
	// Render sends a page.
	Render func(w http.ResponseWriter, r *http.Request, status int, name string, page web.Page)
	// Fail sends an error.
	Fail func(w http.ResponseWriter, r *http.Request, err error)
	// Token is what a form has to carry.
	Token func(r *http.Request) string
	// Ask sends a request to the API in the name of an account's test mode.
	Ask func(r *http.Request, account, method, path, key string, form url.Values) (*api.InternalResponse, error)
	// Lab has the recorded runs that the first pages show.
	Lab *page.Pages
	// Source has the files that the documents name; nil: they link to none.
	Source fs.FS
	Shop   bool // there is one to buy in
	HTTPS  bool // browsers reach the pages over HTTPS
}

// Pages are the documentation's pages.
type Pages struct {
	Config
	library  func() (map[string]document, error)
	passages func() ([]passage, error)
}

// New makes the pages. Nothing is read until one of them is opened.
func New(c Config) *Pages {
	p := &Pages{Config: c}
	p.library = sync.OnceValues(p.renderAll)
	p.passages = sync.OnceValues(p.index)
	return p
}

// Routes hands every page to handle, with the pattern of its address. forms are
// the addresses that change something.
func (p *Pages) Routes(handle, forms func(pattern string, page http.HandlerFunc)) {
	handle("GET /docs", p.docs)
	handle("GET /docs/", p.docs)
	handle("GET /docs/search", p.find)
	handle("GET "+sourceAddress, p.source)
	handle("GET "+sourceAddress+"/{path...}", p.source)
	handle("GET /docs/errors", p.errors)
	handle("GET /docs/errors/{code}", p.errors)
	handle("GET /docs/api", p.reference)
	handle("GET /docs/api/{resource}", p.reference)
	handle("GET /docs/api/{resource}"+objectsPath, p.reference)
	forms("POST /docs/api/run", p.postRun)
}

// missing is a page that does not exist, and where to go instead.
type missing struct{ Heading, Text, Href, Way string }

// newKey is the idempotency key of a sample's request.
func newKey() string { return "docs-example-" + id.Random(16) }

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// read runs a statement and collects its rows.
func read[T any](ctx context.Context, pool *pgxpool.Pool, sql string, args postgres.Args) ([]T, error) {
	var given []any
	if args != nil {
		given = []any{args}
	}
	rows, _ := pool.Query(ctx, sql, given...) // a failed Query comes back from CollectRows
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return found, nil
}
