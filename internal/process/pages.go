package process

import (
	"context"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/dashboard"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/recent"
	"github.com/ratchet-pay/ratchet/internal/supervisor"
	"github.com/ratchet-pay/ratchet/web"
)

// Dashboard says that an API's process serves the pages for people, too.
type Dashboard struct {
	Password     string   // opens the pages while there is no user; "" disables the login: for loopback only
	TOTPRequired bool     // every user needs a second factor
	Shop         *url.URL // of the demo's shop, which is shown under /shop; nil: there is none
	Lab          *url.URL // of the demo's lab, which runs for real what /lab shows; nil: there is none
	Source       fs.FS    // the source that the documentation links to
	Operator     string   // what an operator types before "keys create"; "": ratchet

	Supervisor *supervisor.Client // of the demo, which kills its processes; nil: there is none
}

// pagesConns is few on purpose: who looks at pages must not starve who pays.
const pagesConns = 4

// pages are the dashboard.
type pages struct{ *dashboard.Server }

func openPages(
	ctx context.Context, c Config, p *parts, api http.Handler, site *web.Site, log *recent.Log,
) (*pages, error) {
	pool, err := p.open(ctx,
		postgres.Config{URL: c.DatabaseURL, Role: apiRole, MaxConns: pagesConns, ApplicationName: "ratchet dashboard"})
	if err != nil {
		return nil, err
	}
	return &pages{dashboard.New(dashboard.Config{
		Pool:         pool,
		API:          api,
		Recent:       log,
		Acquirer:     p.acquirer,
		Roots:        p.roots,
		Password:     c.Dashboard.Password,
		TOTPRequired: c.Dashboard.TOTPRequired,
		Site:         site,
		Shop:         c.Dashboard.Shop,
		Lab:          c.Dashboard.Lab,
		Source:       c.Dashboard.Source,
		Operator:     c.Dashboard.Operator,
		Supervisor:   c.Dashboard.Supervisor,
		Demo:         c.Demo,
		HTTPS:        strings.HasPrefix(c.PublicURL, "https://"),
		Log:          c.Log,
	})}, nil
}

// customersSupervisor is the supervisor that the checkout page may use. A customer has no
// password, so where the dashboard needs one, only the dashboard kills.
func customersSupervisor(d *Dashboard) *supervisor.Client {
	if d == nil || d.Password != "" {
		return nil
	}
	return d.Supervisor
}
