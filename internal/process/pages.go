package process

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/dashboard"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

// Dashboard says that an API's process serves the pages for people, too.
type Dashboard struct {
	Password string   // "" disables the login: for loopback only
	Shop     *url.URL // of the demo's shop, which is shown under /shop; nil: there is none
	Lab      *url.URL // of the demo's lab, which runs for real what /lab shows; nil: there is none
}

// pagesConns is few on purpose: who looks at pages must not starve who pays.
const pagesConns = 4

// pages are the dashboard.
type pages struct{ *dashboard.Server }

func openPages(ctx context.Context, c Config, p *parts, api http.Handler, site *web.Site) (*pages, error) {
	pool, err := postgres.Open(ctx,
		postgres.Config{URL: c.DatabaseURL, Role: apiRole, MaxConns: pagesConns, ApplicationName: "ratchet dashboard"})
	if err != nil {
		return nil, err
	}
	p.atEnd(pool.Close)
	return &pages{dashboard.New(dashboard.Config{
		Pool:     pool,
		API:      api,
		Acquirer: p.acquirer,
		Secret:   c.Secret,
		Password: c.Dashboard.Password,
		Site:     site,
		Shop:     c.Dashboard.Shop,
		Lab:      c.Dashboard.Lab,
		Demo:     c.Demo,
		HTTPS:    strings.HasPrefix(c.PublicURL, "https://"),
		Log:      c.Log,
	})}, nil
}
