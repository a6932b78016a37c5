// Package process assembles the parts into the processes that run: the API, the
// worker. Any number of either share one database.
package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/net/netutil"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/checkout"
	"github.com/ratchet-pay/ratchet/internal/crashpoint"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/inbox"
	"github.com/ratchet-pay/ratchet/internal/operation"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/recent"
	"github.com/ratchet-pay/ratchet/internal/retention"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/stripecli"
	"github.com/ratchet-pay/ratchet/internal/stripejs"
	"github.com/ratchet-pay/ratchet/internal/telemetry"
	"github.com/ratchet-pay/ratchet/internal/webhook"
	"github.com/ratchet-pay/ratchet/internal/wire"
	"github.com/ratchet-pay/ratchet/internal/worker"
	"github.com/ratchet-pay/ratchet/web"
)

// Config is what a process needs. All processes of an installation share the
// database, the secret and the acquirer.
type Config struct {
	DatabaseURL    string
	Secret         secret.Root
	OldSecrets     []secret.Root // while it is rotated: those that it takes over from
	AcquirerURL    string
	AcquirerSecret string
	// NotificationSecret verifies the acquirer's notifications; without it the API rejects them.
	NotificationSecret string

	Demo bool // accept the demo accounts' keys, and faults that a request asks for
	// where a browser finds the API's own pages; "": at this machine, which every Host must name then
	PublicURL string
	// TrustedProxies pass requests on with the client's address in X-Forwarded-For; from others it counts for nothing
	TrustedProxies []netip.Prefix
	Retain         time.Duration // how long an answer is replayed; 0: idempotency.AnswerRetention
	Webhooks       webhook.Config
	MaxConns       int32        // 0: DefaultMaxConns
	Limits         Limits       // zero: DefaultLimits
	Metrics        net.Listener // where numbers and health are shown; nil: nowhere but the API's own health
	Dashboard      *Dashboard   // nil: the API alone
	Log            *slog.Logger
	Crash          *crashpoint.Points // nil, but in the crash test
	Keep           retention.Months   // what a worker detaches
	Verify         worker.Verify      // how a worker proves the books all the time; nil: it does not
}

// DefaultMaxConns is how many connections a process keeps at most for its work: half
// of them for reads, and half for transactions that read before they write. Those that
// only write share a few more (phase.CommitterConns). PostgreSQL takes 100 by default.
const DefaultMaxConns = 32

// Roles of the database that the processes work under. Neither can change or
// delete what has been booked, journalled or audited.
const (
	apiRole    = "ratchet_api"
	workerRole = "ratchet_worker"
)

// parts are what both kinds of process are made of.
type parts struct {
	limits    Limits
	leader    *postgres.Leader // the database server that takes writes
	roots     *secret.Roots
	pool      *pgxpool.Pool // for reads
	writes    *pgxpool.Pool // for transactions that read first
	liveness  *idempotency.Liveness
	engine    *phase.Engine
	acquirer  acquirer.Adapter
	inbox     *inbox.Inbox
	limiters  limiters
	telemetry *telemetry.Telemetry
	health    *health
	closing   []func() // in reverse
}

// assemble connects everything. What it has begun when it fails, it ends.
func assemble(ctx context.Context, c Config, kind, role string) (p *parts, err error) {
	if c.MaxConns == 0 {
		c.MaxConns = DefaultMaxConns
	}
	if c.Limits == (Limits{}) {
		c.Limits = DefaultLimits()
	}
	p = &parts{limits: c.Limits, limiters: newLimiters(c.Limits), leader: new(postgres.Leader)}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	tracer, stopTracing, err := telemetry.Tracing(ctx, kind)
	if err != nil {
		return p, err
	}
	p.atEnd(func() { flush(ctx, stopTracing) })
	p.telemetry = telemetry.New(tracer)
	commits, err := p.openDatabase(ctx, c, kind, role)
	if err != nil {
		return p, err
	}
	p.engine = p.newEngine(c, commits)
	if p.acquirer, err = OpenAcquirer(c); err != nil {
		return p, err
	}
	p.atEnd(p.acquirer.Close)
	phase.Connect[acquirer.Acquirer](p.engine, acquirer.Port, p.acquirer)
	p.inbox = inbox.Open(p.pool, operation.ApplyNotification(p.engine), c.Log)
	p.show(p.acquirer)
	if c.Metrics != nil {
		p.atEnd(p.serveMetrics(c.Metrics, c.Log))
	}
	return p, operation.Register(ctx, p.engine)
}

// openDatabase opens the pools, learns the root secret, and starts this process's heartbeat. The result is the pool of
// the committer. The pools are closed with p.
func (p *parts) openDatabase(ctx context.Context, c Config, kind, role string) (commits *pgxpool.Pool, err error) {
	p.pool, err = p.open(ctx, postgres.Config{URL: c.DatabaseURL, Role: role, MaxConns: c.MaxConns / 2,
		ApplicationName: "ratchet " + kind, DialFunc: c.Crash.DialDatabase()})
	if err != nil {
		return nil, err
	}
	if p.roots, err = ClaimSecrets(ctx, p.pool, c.secrets()...); err != nil {
		return nil, err
	}
	p.writes, err = p.open(ctx, postgres.Config{
		URL:             c.DatabaseURL,
		Role:            role,
		MaxConns:        c.MaxConns - c.MaxConns/2,
		ApplicationName: "ratchet " + kind + " writes",
		Session:         phase.TransactionSession,
		DialFunc:        c.Crash.DialDatabase(),
	})
	if err != nil {
		return nil, err
	}
	if err := p.live(ctx, c, kind, role); err != nil {
		return nil, err
	}
	if err := p.followRotations(ctx, c); err != nil {
		return nil, err
	}
	return p.open(ctx, postgres.Config{URL: c.DatabaseURL, Role: role, MaxConns: phase.CommitterConns,
		ApplicationName: "ratchet " + kind + " commits", Session: phase.CommitterSession, NeverCancel: true,
		DialFunc: c.Crash.DialDatabase()})
}

// newEngine is the engine with all that the API adds to it: audit rows, headers, refusals and limits.
func (p *parts) newEngine(c Config, commits *pgxpool.Pool) *phase.Engine {
	return phase.NewEngine(phase.Config{
		Pool:      p.pool,
		Writes:    p.writes,
		Committer: phase.NewCommitter(commits),
		Secret:    p.roots.Keys(secret.Idempotency).Oldest(),
		Roots:     p.roots,
		Owner:     p.liveness.ID,
		Record:    audit.Record,
		Retain:    c.Retain,
		Log:       c.Log,
		Observer:  p.telemetry,
		Work:      p.limiters.work,
		Lookups:   p.limiters.lookups,
		Turns:     p.limiters.commits,
		Encode:    wire.Encode,
		Headers:   apirequest.Headers,
		Refuse:    apirequest.Refuse,
	})
}

// open opens a pool that is closed at the end. Its sessions use no parallel workers: a request, a page or a round reads
// a bounded number of rows, and PostgreSQL takes longer than that to start a worker.
func (p *parts) open(ctx context.Context, c postgres.Config) (*pgxpool.Pool, error) {
	c.Leader = p.leader
	session := map[string]string{"max_parallel_workers_per_gather": "0"}
	maps.Copy(session, c.Session)
	c.Session = session
	pool, err := postgres.Open(ctx, c)
	if err == nil {
		p.atEnd(pool.Close)
	}
	return pool, err
}

// live begins to renew the process's liveness row, on separate connections: a
// process whose others are all busy is still alive. One of them renews the row, one
// looks whether the database answers, and one follows rotations of the root secret.
func (p *parts) live(ctx context.Context, c Config, kind, role string) error {
	heart, err := p.open(ctx,
		postgres.Config{URL: c.DatabaseURL, Role: role, MaxConns: 3, ApplicationName: "ratchet liveness"})
	if err != nil {
		return err
	}
	p.health = &health{pool: heart}
	var digests [][]byte
	for _, root := range c.secrets() {
		digests = append(digests, root.Digest())
	}
	p.liveness, err = idempotency.NewLiveness(ctx, heart, kind, digests...)
	if err != nil {
		return err
	}
	p.background(ctx, p.liveness.Run)
	return nil
}

// followRotations reads the secrets again, now that a rotation can see which of them this process knows: it waits for
// every process, or the process has learned of it here and does not start.
func (p *parts) followRotations(ctx context.Context, c Config) error {
	versions, err := readVersions(ctx, p.pool, c.secrets())
	if err != nil {
		return err
	}
	p.roots.Set(versions)
	log := cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	p.background(ctx, func(ctx context.Context) { learnSecrets(ctx, p.health.pool, p.roots, c.secrets(), log) })
	return nil
}

// secrets are all root secrets that the process was given, the newest first.
func (c Config) secrets() []secret.Root { return append([]secret.Root{c.Secret}, c.OldSecrets...) }

// background does something until the process ends, and waits for its end.
func (p *parts) background(ctx context.Context, do func(context.Context)) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	stopped := make(chan struct{})
	go func() {
		do(running)
		close(stopped)
	}()
	p.atEnd(func() { stop(); <-stopped })
}

func (p *parts) atEnd(do func()) { p.closing = append(p.closing, do) }

// close ends the process's liveness before its connections: what is unfinished
// is taken over at once.
func (p *parts) close() {
	for _, do := range slices.Backward(p.closing) {
		do()
	}
}

// API is a process that answers requests.
type API struct {
	*parts
	Handler http.Handler
	crash   *crashpoint.Points
	pages   *pages // nil: the API alone
	cli     *stripecli.Hub
}

// NewAPI connects everything and serves nothing yet. Close it at the end.
func NewAPI(ctx context.Context, c Config) (*API, error) {
	p, err := assemble(ctx, c, "serve", apiRole)
	if err != nil {
		return nil, err
	}
	p.reportLimiters()
	cli, err := openStripeCLI(ctx, c, p)
	if err != nil {
		p.close()
		return nil, err
	}
	site := web.New(web.Config{Demo: c.Demo, Shop: c.Dashboard != nil && c.Dashboard.Shop != nil, Log: c.Log})
	var log *recent.Log // of what leaves no row
	if c.Dashboard != nil {
		log = recent.NewLog()
	}
	server := api.New(api.Config{
		Engine:             p.engine,
		Site:               site,
		Pages:              c.Dashboard != nil,
		Roots:              p.roots,
		Inbox:              p.inbox,
		NotificationSecret: c.NotificationSecret,
		Demo:               c.Demo,
		PrivateWebhooks:    c.Webhooks.Private(),
		Limits:             p.limits.API,
		Reads:              p.limiters.reads,
		Telemetry:          p.telemetry,
		Log:                c.Log,
		PublicURL:          c.PublicURL,
		StripeCLI:          cli,
		Recent:             log,
	})
	p.background(ctx, server.RecordUses)
	var handler http.Handler = server
	a := &API{parts: p, crash: c.Crash, cli: cli}
	if c.Dashboard != nil {
		a.pages, err = openPages(ctx, c, p, handler, site, log)
		if err != nil {
			p.close()
			return nil, err
		}
		handler = a.pages
	}
	pay := checkout.New(checkout.Config{
		DB:         p.pool,
		API:        server,
		Rest:       handler,
		Site:       site,
		Demo:       c.Demo,
		Supervisor: customersSupervisor(c.Dashboard),
		Log:        c.Log,
	})
	a.Handler = throughProxies(c.TrustedProxies, p.health.serve(server.Guard(stripejs.New(site, pay))))
	return a, nil
}

// cliConns is few on purpose: those who listen must not starve those who pay.
const cliConns = 2

// openStripeCLI begins to serve sessions of Stripe's command line, on separate connections.
func openStripeCLI(ctx context.Context, c Config, p *parts) (*stripecli.Hub, error) {
	pool, err := p.open(ctx, postgres.Config{URL: c.DatabaseURL, Role: apiRole, MaxConns: cliConns,
		ApplicationName: "ratchet stripe cli"})
	if err != nil {
		return nil, err
	}
	hub := stripecli.NewHub(stripecli.Parts{Pool: pool, Keys: p.roots.Keys(secret.Webhooks),
		Owner: p.liveness.ID, Render: event.RenderEvent, Log: c.Log})
	p.background(ctx, hub.Run)
	return hub, nil
}

// Inbox is where messages from outside are taken.
func (a *API) Inbox() *inbox.Inbox { return a.inbox }

// Close closes what NewAPI opened, the database pools above all. Call it after Serve has returned.
func (a *API) Close() { a.close() }

// gcPercent trades a few megabytes for a third of the API's processor time: its
// live heap is so small that Go's default would collect hundreds of times a second.
const gcPercent = 400

// Serve answers on a listener until ctx ends, then finishes what is under way.
func (a *API) Serve(ctx context.Context, l net.Listener, log *slog.Logger) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	server := &http.Server{
		Handler:           endChunked(a.crash.Handler(a.Handler)),
		ReadHeaderTimeout: a.limits.HeaderTime,
		ReadTimeout:       a.limits.BodyTime,
		WriteTimeout:      a.limits.WriteTime,
		IdleTimeout:       a.limits.IdleTime,
		MaxHeaderBytes:    headroom * a.limits.API.HeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	if a.limits.Connections > 0 {
		l = netutil.LimitListener(l, a.limits.Connections)
	}
	if a.pages != nil {
		server.RegisterOnShutdown(a.pages.StopStreams)
	}
	server.RegisterOnShutdown(a.cli.Close)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(stripeShape{a.crash.Listener(l)}) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	return a.drain(server)
}

// endChunked closes the connection after the answer to a request with a
// Transfer-Encoding. Where such a request has a Content-Length as well, a proxy may
// have taken another part of the stream for the next request, and HTTP wants the
// connection closed (RFC 9112, section 6.1). The library drops that length before we
// can see it, so every chunked request ends its connection. The clients of Stripe's
// API send a length and no chunks.
func endChunked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// headroom is how much of a head that is too large is read, so that its sender
// gets an error in Stripe's shape. Past that the library closes the connection.
const headroom = 4

// drain says that the process is going, goes on for a moment with callers that
// have not noticed yet, takes nothing more, and finishes what it has. Every
// answer until then asks its client to come back over another connection, so
// that the connections that are closed in the end have nothing on them.
func (a *API) drain(server *http.Server) error {
	a.health.draining.Store(true)
	time.Sleep(a.limits.DrainGrace)
	ctx, cancel := context.WithTimeout(context.Background(), a.limits.DrainTime)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("drain: %w", err)
	}
	return nil
}

// Work runs the completer, the deliverer of webhooks, the reaper, the sealer and
// the upkeep until ctx ends.
func Work(ctx context.Context, c Config) error {
	p, err := assemble(ctx, c, "work", workerRole)
	if err != nil {
		return err
	}
	defer p.close()
	context.AfterFunc(ctx, func() { p.health.draining.Store(true) })
	return worker.Run(ctx, worker.Config{
		Pool:        p.pool,
		Engine:      p.engine,
		Acquirer:    p.acquirer,
		Inbox:       p.inbox,
		Owner:       p.liveness.ID,
		Telemetry:   p.telemetry,
		Log:         c.Log,
		Webhooks:    c.Webhooks,
		WebhookKeys: p.roots.Keys(secret.Webhooks),
		AuditKeys:   p.roots.Keys(secret.AuditChain),
		Keep:        c.Keep,
		Verify:      c.Verify,
	})
}

// Operator is a process that makes requests for an operator's command.
type Operator struct {
	*parts
	Engine   *phase.Engine
	Pool     *pgxpool.Pool
	Acquirer acquirer.Adapter
}

// NewOperator connects everything, with the worker's rights. Close it at the end.
func NewOperator(ctx context.Context, c Config) (*Operator, error) {
	p, err := assemble(ctx, c, "operator", workerRole)
	if err != nil {
		return nil, err
	}
	return &Operator{p, p.engine, p.pool, p.acquirer}, nil
}

// Close ends the process's liveness, then its connections.
func (o *Operator) Close() { o.close() }
