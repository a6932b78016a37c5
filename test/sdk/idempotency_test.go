//go:build unix

package sdk_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

func TestIdempotencyKeys(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("the same request under the same key gets the same answer and charges once", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		first, again := a.charge(keyed(1000, "one")), a.charge(keyed(1000, "one"))
		equal(t, "answer", string(again.LastResponse.RawJSON), string(first.LastResponse.RawJSON))
		header := again.LastResponse.Header
		equal(t, "replay", []string{header.Get("Idempotent-Replayed"), header.Get("Original-Request")},
			[]string{"true", first.LastResponse.RequestID})
		equal(t, "first answer's replay", first.LastResponse.Header.Get("Idempotent-Replayed"), "")
		equal(t, "charges", len(collect(t, a.V1Charges.List(t.Context(), nil))), 1)
	})

	t.Run("a decline is an answer too", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		params := keyed(1000, "declined")
		params.Source = source("tok_chargeDeclined")
		decline := refusal{http.StatusPaymentRequired, stripe.ErrorTypeCard, "card_declined", "generic_decline",
			"try_again_later", "", "Your card was declined."}
		_, err := a.V1Charges.Create(t.Context(), params)
		first := refused(t, err, decline)
		_, err = a.V1Charges.Create(t.Context(), params)
		again := refused(t, err, decline)
		equal(t, "charge", again.ChargeID, first.ChargeID)
		equal(t, "replay", again.LastResponse.Header.Get("Idempotent-Replayed"), "true")
		equal(t, "charges", len(collect(t, a.V1Charges.List(t.Context(), nil))), 1)
	})

	t.Run("a key of another request is refused, and says what differs", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		a.charge(keyed(1000, "mine"))
		_, err := a.V1Charges.Create(t.Context(), keyed(1001, "mine"))
		mismatch := refusal{Status: http.StatusBadRequest, Type: stripe.ErrorTypeIdempotency}
		mismatch.Message = "Keys for idempotent requests can only be used with the same parameters they were first " +
			"used with. Try using a key other than 'mine' if you meant to execute a different request."
		refused(t, err, mismatch)

		customer := &stripe.CustomerCreateParams{}
		customer.SetIdempotencyKey("mine")
		_, err = a.V1Customers.Create(t.Context(), customer)
		mismatch.Message = "Keys for idempotent requests can only be used for the same endpoint they were first " +
			"used for ('/v1/customers' vs '/v1/charges'). Try using a key other than 'mine' if you meant to execute " +
			"a different request."
		refused(t, err, mismatch)
		equal(t, "charges", len(collect(t, a.V1Charges.List(t.Context(), nil))), 1)
	})

	t.Run("two accounts use one key without noticing", func(t *testing.T) {
		inTurn(t)
		one, other := in.account(t), in.account(t)
		if one.charge(keyed(1000, "common")).ID == other.charge(keyed(1000, "common")).ID {
			t.Error("they got one charge")
		}
	})

	t.Run("a refused request leaves its key free", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		_, err := a.V1Charges.Create(t.Context(), keyed(1, "corrected"))
		refused(t, err, invalid("amount_too_small", "amount", ""))
		equal(t, "amount", a.charge(keyed(1000, "corrected")).Amount, int64(1000))
	})
}

// An answer that gets lost is the reason for all of this: the SDK asks again, by
// itself and under the same key.
func TestAnswersThatGetLost(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("a charge is made once", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		proxy := losing(t, in.url)
		client, _ := connectWithRetries(t, proxy.url, a.key, 2)
		charge, err := client.V1Charges.Create(t.Context(), order(7301, "tok_visa"))
		noError(t, err)
		proxy.lostOnce(t)
		equal(t, "replay", charge.LastResponse.Header.Get("Idempotent-Replayed"), "true")
		equal(t, "charges",
			ids(collect(t, a.V1Charges.List(t.Context(), nil)), func(c *stripe.Charge) string { return c.ID }),
			[]string{charge.ID})
		equal(t, "what the card saw", in.cardSaw(t, 7301), []string{"sale approved"})
	})

	t.Run("a refund is made once", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		charge := a.sell(7302)
		proxy := losing(t, in.url)
		client, _ := connectWithRetries(t, proxy.url, a.key, 2)
		refund, err := client.V1Refunds.Create(t.Context(),
			&stripe.RefundCreateParams{Charge: &charge.ID, Amount: stripe.Int64(3001)})
		noError(t, err)
		proxy.lostOnce(t)
		equal(t, "refund", []any{refund.Amount, a.retrieveCharge(charge.ID).AmountRefunded},
			[]any{int64(3001), int64(3001)})
		equal(t, "what the card saw", in.cardSaw(t, 3001), []string{"refund approved"})
	})
}

// keyed asks for the amount under a key.
func keyed(amount int64, key string) *stripe.ChargeCreateParams {
	params := order(amount, "tok_visa")
	params.SetIdempotencyKey(key)
	return params
}

// cardSaw is what the acquirer did about an amount no other test uses.
func (in *installation) cardSaw(t *testing.T, amount int64) (saw []string) {
	t.Helper()
	rows, err := in.journal.Query(t.Context(), `
		SELECT kind, result FROM acquirer.movements WHERE amount = $1 ORDER BY number`, amount)
	noError(t, err)
	defer rows.Close()
	for rows.Next() {
		var kind, result string
		noError(t, rows.Scan(&kind, &result))
		saw = append(saw, fmt.Sprintf("%s %s", kind, result))
	}
	noError(t, rows.Err())
	return saw
}

var errLost = errors.New("the answer got lost")

// losingProxy passes everything on, but loses the first answer.
type losingProxy struct {
	url string

	mu       sync.Mutex
	keys     []string // of the requests, in order
	replayed []string // what their answers said of that
}

func losing(t *testing.T, upstream string) *losingProxy {
	t.Helper()
	target, err := url.Parse(upstream)
	noError(t, err)
	p := &losingProxy{}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.ModifyResponse = func(answer *http.Response) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.keys = append(p.keys, answer.Request.Header.Get("Idempotency-Key"))
		p.replayed = append(p.replayed, answer.Header.Get("Idempotent-Replayed"))
		if len(p.keys) == 1 {
			return errLost
		}
		return nil
	}
	// closes the connection
	forward.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	server := httptest.NewServer(forward)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// lostOnce requires that the client asked twice, under one key.
func (p *losingProxy) lostOnce(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.keys) != 2 || p.keys[0] == "" || len(slices.Compact(slices.Clone(p.keys))) != 1 {
		t.Errorf("the requests came under the keys %q, want one key twice", p.keys)
	}
}
