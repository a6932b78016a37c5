// Package demo runs all of Ratchet on one machine with nothing to set up, and
// keeps it running while its processes are killed.
//
//	data directory ──▶ postgres ──▶ schema, accounts, keys ──▶ acquirer, work, serve, shop
//
// The parts are separate processes, as in production, so that each can be
// killed for real and what the others do about it can be watched. A part that
// dies is started again at once. All of them end with this process, however it
// ends; the data stays for the next run.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/lab/page"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/postgres/local"
)

// Config says where the demo listens and where it keeps its data.
type Config struct {
	Addr    string // host:port of the API; port 0 takes a free one
	LAN     bool   // allow an Addr that other machines reach: the demo's keys are public
	DataDir string // empty: DefaultDataDir

	// Fresh forgets the data of earlier runs. Refused together with DatabaseURL:
	// a database that is not the demo's own is not the demo's to empty.
	Fresh bool

	PublicURL string // where browsers find it; empty: at Addr, or with LAN at an address of this machine

	// WebhookPorts are ports of this machine that webhooks may go to besides the shop's, such
	// as "3000,4242", or AnyPort. The demo's keys are public, so a web page that gets
	// around the checks of the API could have the worker post to any program here.
	WebhookPorts string

	Empty bool // begin without sample data

	DatabaseURL string // a server that exists already; empty: the demo starts one

	Program string    // how to call this program again, for the examples that are printed
	Out     io.Writer // where people read what happens
}

// AnyPort is every port, in Config.WebhookPorts.
const AnyPort = "any"

// Refusal is why a demo does not start as requested: a mistake in how it was
// called, and not something that failed.
type Refusal struct{ reason string }

// Error is the reason and what to do about it.
func (r *Refusal) Error() string { return r.reason }

// demo is one run.
type demo struct {
	Config
	base    string // the API's address as a URL
	dir     *dataDir
	console *console
	server  *local.Server
	books   databases

	acquirerAddr          string
	metricsAddrs          map[string]string // of serve, work and acquirer
	secret                string
	acquirerSecret        string
	notificationSecret    string
	password              string // of the dashboard; none where only this machine reaches it
	shopAddr, shopSecret  string
	sampleAddr            string // where the sample receives webhooks
	serve, work, acquirer *child
	shop                  *child

	supervisorAddr   string
	supervisorSecret string // known to serve
	supervisor       *http.Server
	partsMu          sync.Mutex
	parts            []*child // that pages may kill

	labAddr, labProcessAddr string // of the lab: ours, and its process's
	lab                     *labProcess
}

// startTimeout is how long the parts get until they answer. They need a tenth
// of a second; a busy machine may need longer.
const startTimeout = 30 * time.Second

// Run brings everything up, prints how to use it and keeps it running until ctx
// ends; then it stops everything in order and returns nil. An error means that
// it could not start, or lost its database for good; nothing is left running.
func Run(ctx context.Context, c Config) (err error) {
	d := &demo{Config: c, console: newConsole(c.Out)}
	defer func() {
		stopped := d.stop()
		if ctx.Err() != nil {
			err = stopped // stopped on request: an interruption is not a failure
			return
		}
		err = errors.Join(err, stopped)
	}()
	err = d.prepare(ctx)
	if err != nil {
		return err
	}
	err = d.startParts(ctx)
	if err != nil {
		return err
	}
	err = d.dir.writeEnviron(d.environ())
	if err != nil {
		return err
	}
	d.banner()
	if d.wantsSample() {
		ctx, stop := context.WithCancel(ctx)
		added := make(chan struct{})
		go func() { defer close(added); d.addSample(ctx) }()
		defer func() { stop(); <-added }()
	}
	return d.watch(ctx)
}

// prepare does everything that comes before the parts: nothing is started until
// it is certain that the demo may run here.
func (d *demo) prepare(ctx context.Context) error {
	if d.Fresh && d.DatabaseURL != "" {
		return &Refusal{"--fresh is not allowed while DATABASE_URL is set: delete the data of your own database " +
			"yourself"}
	}
	address, err := resolve(d.Addr, d.LAN)
	if err != nil {
		return err
	}
	d.dir, err = openDataDir(d.DataDir)
	if err != nil {
		return err
	}
	d.Addr, err = claimPort(address)
	if err != nil {
		return err
	}
	d.base = baseURL(d.Addr)
	inner, err := innerPorts(d.Addr, 9)
	if err != nil {
		return err
	}
	d.acquirerAddr = inner[0]
	d.metricsAddrs = map[string]string{
		"serve":    inner[1],
		"work":     inner[2],
		"acquirer": inner[4],
	}
	d.shopAddr, d.labAddr, d.labProcessAddr, d.supervisorAddr = inner[3], inner[5], inner[6], inner[7]
	d.sampleAddr = inner[8]
	d.secret, err = d.dir.secret("secret")
	if err != nil {
		return err
	}
	d.acquirerSecret, err = d.dir.secret("acquirer-secret")
	if err != nil {
		return err
	}
	d.notificationSecret, err = d.dir.secret("notification-secret")
	if err != nil {
		return err
	}
	d.shopSecret, err = d.dir.secret("shop-secret")
	if err != nil {
		return err
	}
	if d.LAN {
		d.password, err = d.dir.secret("dashboard-password")
		if err != nil {
			return err
		}
	}
	d.server, err = local.Start(ctx, d.serverOptions())
	if err != nil {
		return err
	}
	return d.prepareDatabases(ctx)
}

func (d *demo) serverOptions() local.Options {
	return local.Options{URL: d.DatabaseURL, StateDir: d.dir.path, Log: d.console.sayf}
}

func (d *demo) prepareDatabases(ctx context.Context) (err error) {
	if d.DatabaseURL != "" {
		d.books, err = besides(ctx, d.DatabaseURL)
	} else {
		d.books, err = ownDatabases(ctx, d.server.URL, d.Fresh)
	}
	if err != nil {
		return err
	}
	err = postgres.Migrate(ctx, d.books.ratchet)
	if err != nil {
		return err
	}
	err = mayTakeRoles(ctx, d.books.ratchet)
	if err != nil {
		return err
	}
	return seed(ctx, d.books.ratchet, d.secret)
}

// environ is what the parts, and the operator's commands beside them, need to know.
func (d *demo) environ() []string {
	return []string{
		"RATCHET_DASHBOARD=on",
		"RATCHET_DASHBOARD_PASSWORD=" + d.password,
		"RATCHET_DEMO=1",
		"RATCHET_ADDR=" + d.Addr,
		"RATCHET_URL=" + d.base,
		"RATCHET_PUBLIC_URL=" + d.publicURL(),
		"RATCHET_DATABASE_URL=" + d.books.ratchet,
		"RATCHET_SECRET=" + d.secret,
		"RATCHET_ACQUIRER_ADDR=" + d.acquirerAddr,
		"RATCHET_ACQUIRER_URL=http://" + d.acquirerAddr,
		"RATCHET_ACQUIRER_DATABASE_URL=" + d.books.acquirer,
		"RATCHET_ACQUIRER_SECRET=" + d.acquirerSecret,
		"RATCHET_WEBHOOK_ALLOW_LOOPBACK=1",
		"RATCHET_WEBHOOK_LOOPBACK_PORTS=" + d.webhookPorts(),
		"RATCHET_ACQUIRER_NOTIFY_URL=" + d.base + acquirer.NotificationsPath,
		"RATCHET_NOTIFICATION_SECRET=" + d.notificationSecret,
		"RATCHET_ACQUIRER_SETTLE_EVERY=2s",
		"RATCHET_SHOP_URL=http://" + d.shopAddr,
		page.URLVariable + "=http://" + d.labAddr,
		"RATCHET_OPERATOR_COMMAND=" + d.commandAnywhere(),
	}
}

// webhookPorts are the ports of this machine that webhooks may go to.
func (d *demo) webhookPorts() string {
	own := portOf(d.shopAddr) + "," + portOf(d.sampleAddr)
	switch d.WebhookPorts {
	case "":
		return own
	case AnyPort:
		return AnyPort
	}
	return own + "," + d.WebhookPorts
}

// environOfShop is all that the shop knows: it represents a merchant.
func (d *demo) environOfShop() []string {
	return []string{
		"RATCHET_DEMO=1",
		"RATCHET_URL=" + d.base,
		"RATCHET_SHOP_ADDR=" + d.shopAddr,
		"RATCHET_SHOP_DATABASE_URL=" + d.books.ratchet,
		"RATCHET_SHOP_SECRET=" + d.shopSecret,
		"RATCHET_SHOP_KEY=" + merchants[0].secret,
		"RATCHET_SHOP_PUBLISHABLE_KEY=" + merchants[0].publishable,
	}
}

// environOf is what one part needs to know. Ctrl-C means now: no client has to be
// given time to send callers elsewhere.
func (d *demo) environOf(part string) []string {
	return append(d.environ(), "RATCHET_METRICS_ADDR="+d.metricsAddrs[part], "RATCHET_DRAIN_GRACE_PERIOD=0s")
}

func (d *demo) startParts(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	start := func(name string, environ []string) (*child, error) {
		return startChild(d.console, name, program, d.dir.log(name), environ)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	d.acquirer, err = start("acquirer", d.environOf("acquirer"))
	if err != nil {
		return err
	}
	err = answers(ctx, d.acquirer, "http://"+d.acquirerAddr+"/") // the worker logs an error if it is down
	if err != nil {
		return err
	}
	d.work, err = start("work", d.environOf("work"))
	if err != nil {
		return err
	}
	if err := d.startLab(ctx); err != nil {
		return err
	}
	err = d.supervise()
	if err != nil {
		return err
	}
	d.serve, err = start("serve", d.environOfServe())
	if err != nil {
		return err
	}
	d.shop, err = start("shop", d.environOfShop())
	if err != nil {
		return err
	}
	d.mayBeKilled(d.acquirer, d.work, d.serve, d.shop)
	err = answers(ctx, d.serve, d.base+"/v1/account")
	if err != nil {
		return err
	}
	return answers(ctx, d.shop, "http://"+d.shopAddr+"/shop")
}

// watch returns when ctx ends, or when the database is gone and does not come back.
func (d *demo) watch(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.server.Done():
			err := d.restartPostgres(ctx)
			if err != nil {
				return err
			}
		}
	}
}

// postgresTimeout is how long a new postgres is tried for. The old one's
// children may hold its memory for a moment after it was killed.
const postgresTimeout = 20 * time.Second

// restartPostgres restarts the server after a crash, under the same
// address, so that the processes find it again.
func (d *demo) restartPostgres(ctx context.Context) error {
	url, died := d.server.URL, d.server.PID()
	d.console.sayf("postgres %d crashed; committed data is on disk", died)
	_ = d.server.Stop() // releases the data directory
	for deadline := time.Now().Add(postgresTimeout); ; {
		server, err := local.Start(ctx, local.Options{StateDir: d.dir.path})
		switch {
		case err == nil && server.URL != url:
			return errors.Join(errors.New("postgres restarted, but its port is in use: restart the demo"),
				server.Stop())
		case err == nil:
			d.server = server
			d.console.sayf("postgres is back as %d", server.PID())
			return nil
		case ctx.Err() != nil:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("postgres does not restart: %w", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// stop ends what is running, the one that answers callers first and what it
// is at.
func (d *demo) stop() (err error) {
	if d.serve != nil {
		d.console.sayf("stopping")
	}
	for _, c := range []*child{d.shop, d.serve, d.work, d.acquirer} {
		if c != nil {
			c.stop()
		}
	}
	if d.lab != nil {
		d.lab.stop()
	}
	if d.supervisor != nil {
		_ = d.supervisor.Close()
	}
	if d.server != nil {
		err = d.server.Stop()
	}
	d.console.close()
	if d.dir != nil {
		d.dir.close()
	}
	if d.serve != nil && err == nil {
		d.farewell()
	}
	return err
}
