//go:build unix

package sdk_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

const somewhere = "https://shop.example.com/webhook"

func TestWebhookEndpoints(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("an endpoint has what it was created and updated with, until it is deleted", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		made, err := a.V1WebhookEndpoints.Create(t.Context(), &stripe.WebhookEndpointCreateParams{
			URL:           stripe.String(somewhere),
			EnabledEvents: stripe.StringSlice([]string{"charge.succeeded", "payout.paid"}),
			Description:   stripe.String("books"),
			Metadata:      map[string]string{"team": "books"},
			APIVersion:    stripe.String(stripe.APIVersion),
			Connect:       stripe.Bool(false),
		})
		noError(t, err)
		read, err := a.V1WebhookEndpoints.Retrieve(t.Context(), made.ID, nil)
		noError(t, err)
		equal(t, "texts", []string{read.URL, read.Description, read.APIVersion, read.Status, read.Secret},
			[]string{somewhere, "books", stripe.APIVersion, "enabled", ""})
		equal(t, "events", read.EnabledEvents, []string{"charge.succeeded", "payout.paid"})
		equal(t, "metadata", read.Metadata, map[string]string{"team": "books"})
		changed, err := a.V1WebhookEndpoints.Update(t.Context(), made.ID, &stripe.WebhookEndpointUpdateParams{
			URL:           stripe.String(somewhere + "/2"),
			EnabledEvents: stripe.StringSlice([]string{"*"}),
			Description:   stripe.String(""),
			Metadata:      map[string]string{"team": ""},
			Disabled:      stripe.Bool(true),
		})
		noError(t, err)
		equal(t, "changed texts", []string{changed.URL, changed.Description, changed.Status, changed.Secret},
			[]string{somewhere + "/2", "", "disabled", ""})
		equal(t, "listed",
			ids(collect(t, a.V1WebhookEndpoints.List(t.Context(), nil)),
				func(e *stripe.WebhookEndpoint) string { return e.ID + e.Secret }), []string{made.ID})
		deleted, err := a.V1WebhookEndpoints.Delete(t.Context(), made.ID, nil)
		noError(t, err)
		equal(t, "deleted", deleted.Deleted, true)
		_, err = a.V1WebhookEndpoints.Retrieve(t.Context(), made.ID, nil)
		refused(t, err, missing("id", fmt.Sprintf("No such webhook endpoint: '%s'", made.ID)))
		equal(t, "listed", len(collect(t, a.V1WebhookEndpoints.List(t.Context(), nil))), 0)
	})

	t.Run("a secret is shown by the creation and its replay, and is nowhere in the database", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		create := func() *stripe.WebhookEndpoint {
			// A text that looks like a sealed secret comes back as it was sent.
			params := &stripe.WebhookEndpointCreateParams{
				URL:           stripe.String(somewhere),
				EnabledEvents: stripe.StringSlice([]string{"*"}),
				Description:   stripe.String("sealed:AAAA"),
			}
			params.SetIdempotencyKey("the endpoint")
			e, err := a.V1WebhookEndpoints.Create(t.Context(), params)
			noError(t, err)
			return e
		}
		first, again := create(), create()
		if !regexp.MustCompile(`^whsec_[0-9A-Za-z]{32}$`).MatchString(first.Secret) ||
			first.Description != "sealed:AAAA" {
			t.Errorf("the answer is %s", first.LastResponse.RawJSON)
		}
		equal(t, "replay", string(again.LastResponse.RawJSON), string(first.LastResponse.RawJSON))
		equal(t, "replayed", again.LastResponse.Header.Get("Idempotent-Replayed"), "true")
		var kept string
		noError(t, in.db.QueryRow(t.Context(), `
			SELECT (SELECT string_agg(r::text || convert_from(coalesce(r.body, ''), 'UTF8'), '') FROM request_status r
			       WHERE account_id = $1)
			    || (SELECT string_agg(a::text, '') FROM audit_events a WHERE account_id = $1)
			    || (SELECT string_agg(w::text, '') FROM webhook_endpoints w WHERE account_id = $1)`, a.id).Scan(&kept))
		if !strings.Contains(kept, first.ID) || strings.Contains(kept, "whsec_") ||
			strings.Contains(kept, strings.TrimPrefix(first.Secret, "whsec_")) {
			t.Errorf("the secret is in %s", kept)
		}
		if other := a.endpoint(somewhere, "*"); other.Secret == first.Secret {
			t.Error("two endpoints have one secret")
		}
	})

	t.Run("an account has sixteen endpoints at most, also when all are made at once", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		retrying, _ := connectWithRetries(t, in.url, a.key, 20) // on a slow machine a client waits too long
		var making sync.WaitGroup
		var mu sync.Mutex
		var made []string
		for range 20 {
			making.Go(func() {
				e, err := retrying.V1WebhookEndpoints.Create(t.Context(), &stripe.WebhookEndpointCreateParams{
					URL:           stripe.String(somewhere),
					EnabledEvents: stripe.StringSlice([]string{"*"}),
				})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					made = append(made, e.ID)
				}
			})
		}
		making.Wait()
		equal(t, "made", len(made), 16)
		_, err := a.V1WebhookEndpoints.Create(t.Context(), &stripe.WebhookEndpointCreateParams{
			URL:           stripe.String(somewhere),
			EnabledEvents: stripe.StringSlice([]string{"*"}),
		})
		refused(t, err, invalid("", "", "You have reached the maximum of 16 test webhook endpoints."))
		_, err = a.V1WebhookEndpoints.Delete(t.Context(), made[7], nil)
		noError(t, err)
		a.endpoint(somewhere, "*")
	})

	for what, c := range map[string]struct {
		params stripe.WebhookEndpointCreateParams
		want   refusal
	}{
		"an event nobody knows": {stripe.WebhookEndpointCreateParams{EnabledEvents: stripe.StringSlice([]string{"*",
			"charge.lost"})}, invalid("", "enabled_events[1]", "")},
		"no version of Stripe's": {stripe.WebhookEndpointCreateParams{APIVersion: stripe.String("2019-12-04")},
			invalid("", "api_version", "")},
		"connected accounts": {stripe.WebhookEndpointCreateParams{Connect: stripe.Bool(true)},
			invalid("", "connect", "")},
		"an address without HTTP": {stripe.WebhookEndpointCreateParams{URL: stripe.String("ftp://shop.example.com/")},
			invalid("url_invalid", "url", "")},
		"a private address": {stripe.WebhookEndpointCreateParams{URL: stripe.String("https://10.0.0.1/")},
			invalid("url_invalid", "url", "Invalid URL: URL must be publicly accessible.")},
	} {
		t.Run(what+" is refused", func(t *testing.T) {
			inTurn(t)
			params := c.params
			if params.URL == nil {
				params.URL = stripe.String(somewhere)
			}
			if params.EnabledEvents == nil {
				params.EnabledEvents = stripe.StringSlice([]string{"*"})
			}
			_, err := in.account(t).V1WebhookEndpoints.Create(t.Context(), &params)
			refused(t, err, c.want)
		})
	}
}
