package shop

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// endpoint is what the shop remembers of its webhook endpoint.
type endpoint struct {
	Key    string // the idempotency key it was asked for under
	URL    string
	ID     *string
	Secret *string // sealed
}

const (
	// The shop stores its request for an endpoint before it sends it to the API. If the shop
	// crashes in between, the next one repeats it under the same key and gets the same secret.
	insertWish     = `INSERT INTO shop.endpoint (key, url) VALUES (@key, @url) ON CONFLICT (one) DO NOTHING`
	selectEndpoint = `SELECT key, url, id, secret FROM shop.endpoint`
	keepEndpoint   = `UPDATE shop.endpoint SET id = @id, secret = @secret WHERE key = @key`
	moveEndpoint   = `UPDATE shop.endpoint SET url = @url WHERE key = @key`
	forgetEndpoint = `DELETE FROM shop.endpoint WHERE key = @key`
)

// sealedFor is the place that the signing secret is sealed for.
const sealedFor = "shop.endpoint"

// keepEndpoint sees to it that the API tells the shop of what happens, and tries
// until it has.
func (s *Server) keepEndpoint(ctx context.Context) {
	for {
		err := s.register(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		s.Log.Info("no endpoint yet", "reason", err.Error())
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

func (s *Server) register(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, insertWish, postgres.Args{"key": "shop-endpoint-" + id.Random(16), "url": s.WebhookURL})
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	known, err := s.endpoint(ctx)
	if err != nil {
		return err
	}
	if known.ID == nil {
		if known, err = s.createEndpoint(ctx, known); err != nil {
			return err
		}
	}
	return s.checkEndpoint(ctx, known)
}

func (s *Server) endpoint(ctx context.Context) (*endpoint, error) {
	rows, _ := s.pool.Query(ctx, selectEndpoint)
	known, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[endpoint])
	if err != nil {
		return nil, fmt.Errorf("read the endpoint: %w", err)
	}
	return known, nil
}

// webhookEndpoint is what the shop reads of one.
type webhookEndpoint struct {
	ID     string
	URL    string
	Status string
	Secret string // shown once, when it is made
}

func (s *Server) createEndpoint(ctx context.Context, wish *endpoint) (*endpoint, error) {
	var created webhookEndpoint
	err := s.client.post(ctx, "/v1/webhook_endpoints", wish.Key,
		url.Values{"url": {wish.URL}, "enabled_events[]": wanted, "description": {"The demo's shop"}}, &created)
	if err != nil {
		return nil, fmt.Errorf("create the endpoint: %w", err)
	}
	sealed, err := secret.Seal(s.Secret.For(secret.ShopEndpoint), sealedFor, created.Secret)
	if err != nil {
		return nil, err
	}
	_, err = s.pool.Exec(ctx, keepEndpoint, postgres.Args{"key": wish.Key, "id": created.ID, "secret": sealed})
	if err != nil {
		return nil, fmt.Errorf("store the endpoint: %w", err)
	}
	return &endpoint{Key: wish.Key, URL: wish.URL, ID: &created.ID, Secret: &sealed}, nil
}

// checkEndpoint sets the endpoint's URL to the shop's present address. If a user has
// deleted the endpoint, the shop forgets it and creates it again at the next attempt.
func (s *Server) checkEndpoint(ctx context.Context, known *endpoint) error {
	var now webhookEndpoint
	err := s.client.get(ctx, "/v1/webhook_endpoints/"+*known.ID, &now)
	var refused *refusal
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		_, err := s.pool.Exec(ctx, forgetEndpoint, postgres.Args{"key": known.Key})
		return errors.Join(fmt.Errorf("endpoint %s no longer exists", *known.ID), err)
	}
	if err != nil {
		return fmt.Errorf("look for the endpoint: %w", err)
	}
	if now.URL != s.WebhookURL || now.Status != "enabled" {
		err := s.client.post(ctx, "/v1/webhook_endpoints/"+*known.ID, "",
			url.Values{"url": {s.WebhookURL}, "disabled": {"false"}}, &now)
		if err != nil {
			return fmt.Errorf("move the endpoint: %w", err)
		}
	}
	_, err = s.pool.Exec(ctx, moveEndpoint, postgres.Args{"key": known.Key, "url": s.WebhookURL})
	return err
}

// signingSecret is what the API signs with.
func (s *Server) signingSecret(ctx context.Context) (string, error) {
	known, err := s.endpoint(ctx)
	if err != nil {
		return "", err
	}
	if known.Secret == nil {
		return "", errors.New("the endpoint does not exist yet")
	}
	return secret.Open(s.Secret.For(secret.ShopEndpoint), sealedFor, *known.Secret)
}
