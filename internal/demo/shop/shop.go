// Package shop is a merchant: a small shop that takes payments through the API, as any
// merchant's would. It runs in a separate process, and all it knows about Ratchet is an
// address and a secret key.
//
//	shelf ──▶ cart (a signed cookie) ──Pay──▶ order ──▶ checkout session ──▶ the hosted page, or the
//	                                            │                            shop's page with Stripe.js
//	                                           paid ◀── signed webhook ◀──────────┘
//
// Three rules keep it correct, no matter which process crashes:
//
//  1. The shop commits the order before it calls the API. It derives the request from the
//     order's row alone and sends it with the order's id as the idempotency key, so every
//     retry gets the same session.
//  2. An order is paid when the shop has processed the webhook that says so. That a
//     browser returns to the shop proves nothing.
//  3. The shop processes an event in the transaction that stores the event's id, so it
//     processes an event once, no matter how often the event is delivered.
//
// It is part of the demo and of nothing else.
package shop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/web"
)

// Config is what the shop needs.
type Config struct {
	DatabaseURL string      // where its schema is; the shop works there under its own role
	Secret      secret.Root // the shop's, not the installation's
	API         string      // the API's address, such as http://127.0.0.1:8080
	Key         string      // the merchant's secret key
	Publishable string      // the merchant's publishable key, for the page with Stripe.js
	WebhookURL  string      // where the API's deliveries reach the shop
	Log         *slog.Logger
}

// WebhookPath is where the shop receives events.
const WebhookPath = "/shop/webhook"

// role sees the schema shop, and nothing else.
const role = "ratchet_shop"

// Server is the shop.
type Server struct {
	Config
	pool    *pgxpool.Pool
	key     []byte // signs carts and names orders
	client  *client
	site    *web.Site
	handler http.Handler
}

// New connects to the database. The API need not be there yet. Close it at the end.
func New(ctx context.Context, c Config) (*Server, error) {
	api, err := url.Parse(c.API)
	if err != nil || api.Host == "" {
		return nil, fmt.Errorf("%q is not the URL of an API", c.API)
	}
	pool, err := postgres.Open(ctx,
		postgres.Config{URL: c.DatabaseURL, Role: role, MaxConns: 4, ApplicationName: "shop"})
	if err != nil {
		return nil, err
	}
	s := &Server{Config: c, pool: pool, key: c.Secret.For(secret.ShopCarts), client: newClient(c.API, c.Key),
		site: web.New(web.Config{Demo: true, Shop: true, Log: c.Log})}
	s.handler = s.routes()
	return s, nil
}

// Close closes the shop's database connections.
func (s *Server) Close() { s.pool.Close() }

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	across := http.NewCrossOriginProtection()
	page := func(pattern string, h http.HandlerFunc) { mux.Handle(pattern, web.Harden(across.Handler(h))) }
	mux.HandleFunc("POST "+WebhookPath, s.postWebhook)
	page("GET /assets/{version}/{name...}", s.site.Assets)
	page("GET /shop", s.getShelf)
	page("GET /shop/cart", s.getCart)
	page("POST /shop/cart", s.postCart)
	page("POST /shop/pay", s.postPay)
	page("POST /shop/buy", s.postBuy)
	page("GET /shop/orders/{order}", s.getOrder)
	page("GET /shop/orders/{order}/pay", s.getPay)
	page("POST /shop/orders/{order}/again", s.postAgain)
	page("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/shop", http.StatusSeeOther) })
	page("/", s.notFound)
	return mux
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// requestTimeout bounds a request. The API gets some of it to come back to life.
const requestTimeout = 35 * time.Second

// Serve answers on a listener until ctx ends, then finishes what is under way.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: s, ReadTimeout: 10 * time.Second, WriteTimeout: requestTimeout,
		IdleTimeout: time.Minute, ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug)}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	registered := make(chan struct{})
	go func() {
		s.keepEndpoint(ctx)
		close(registered)
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	<-registered
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	if err := server.Shutdown(ending); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}
