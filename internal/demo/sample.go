package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A new demo gets a shop's first day: customers, products, payments of every kind, a dispute and a
// payout, so that its pages have something to show. All of it goes through the API, in the
// background, like any merchant's requests, and is stamped with the time at which it happens:
// the time of a record is the database's, and nothing here sets it back (docs/decisions/0030).

// sampleFile, in the data directory, says that the sample is complete.
const sampleFile = "sample"

// wantsSample reports whether this demo should get the sample, or the rest of it.
func (d *demo) wantsSample() bool {
	if d.Empty {
		return false
	}
	_, err := os.Stat(filepath.Join(d.dir.path, sampleFile))
	return d.Fresh || errors.Is(err, fs.ErrNotExist)
}

// addSample fills the demo. If a run is stopped in the middle, the next start continues it: every
// request has its own key, so the API repeats the earlier responses.
func (d *demo) addSample(ctx context.Context) {
	defer d.console.hideRequests()()
	s := sampler{base: d.base, http: http.Client{Timeout: 30 * time.Second}}
	err := s.fill(ctx)
	if err == nil {
		err = replaceFile(filepath.Join(d.dir.path, sampleFile), "complete\n")
	}
	if err != nil && ctx.Err() == nil {
		d.console.sayf("the sample data is incomplete: %v; the next start adds the rest", err)
	}
}

// sampler sends the sample's requests.
type sampler struct {
	base string
	http http.Client
	sent int
}

// sold is what the sample's customers buy, with prices in US cents.
var sold = []struct {
	name  string
	price int64
}{
	{"Mug", 1800}, {"Ratchet spanner", 2400}, {"Ledger", 1400}, {"Rubber stamp", 950}, {"Bookends", 3200},
	{"Umbrella", 2700},
}

var buyers = []struct{ name, email, card string }{
	{"Ada Okafor", "ada@example.com", "tok_visa"}, {"Ben Lindqvist", "ben@example.com", "tok_mastercard"},
	{"Carla Moreno", "carla@example.com", "tok_amex"}, {"Daniel Weiss", "daniel@example.com", "tok_visa"},
	{"Emi Tanaka", "emi@example.com", "tok_jcb"}, {"Farid Haddad", "farid@example.com", "tok_discover"},
}

// samplePayments is how many orders the customers place.
const samplePayments = 36

// fill does nothing in a shop that already has other payments.
func (s *sampler) fill(ctx context.Context) error {
	own, err := s.hasOther(ctx)
	if err != nil || own {
		return err
	}
	for _, good := range sold {
		_, err := s.post(ctx, "/v1/products", "name", good.name, "default_price_data[currency]", "usd",
			"default_price_data[unit_amount]", strconv.FormatInt(good.price, 10))
		if err != nil {
			return err
		}
	}
	var customers []string
	for _, b := range buyers {
		made, err := s.post(ctx, "/v1/customers", "name", b.name, "email", b.email, "source", b.card)
		if err != nil {
			return err
		}
		customers = append(customers, made.ID)
	}
	charges, err := s.sell(ctx, customers)
	if err != nil {
		return err
	}
	return s.handle(ctx, charges)
}

// hasOther tells whether the newest charge is not the sample's.
func (s *sampler) hasOther(ctx context.Context) (bool, error) {
	var found struct {
		Data []struct{ Metadata map[string]string }
	}
	if err := s.send(ctx, http.MethodGet, "/v1/charges?limit=1", "", nil, &found); err != nil {
		return false, err
	}
	return len(found.Data) > 0 && found.Data[0].Metadata["sample"] == "", nil
}

// sell takes the orders. Each seventh card is declined, and the buyer pays with another.
func (s *sampler) sell(ctx context.Context, customers []string) (charges []sampled, err error) {
	for i := range samplePayments {
		good, quantity, buyer := sold[(i*5+i/7)%len(sold)], int64(1+i%3), i%len(customers)
		order := []string{"amount", strconv.FormatInt(good.price*quantity, 10), "currency", "usd",
			"description", fmt.Sprintf("%d × %s", quantity, good.name), "metadata[order]", strconv.Itoa(2001 + i),
			"receipt_email", buyers[buyer].email}
		if i%9 == 4 {
			order[3] = "eur"
		}
		if i%7 == 3 {
			if _, err := s.post(ctx, "/v1/charges", append(order, "source", declines[i%len(declines)])...); err != nil {
				return nil, err
			}
		}
		made, err := s.post(ctx, "/v1/charges", append(order, "customer", customers[buyer])...)
		if err != nil {
			return nil, err
		}
		charges = append(charges, made)
	}
	return charges, nil
}

var declines = []string{"tok_chargeDeclined", "tok_chargeDeclinedInsufficientFunds"}

// handle does what comes after a sale: refunds, a hold, a dispute, and a payout.
func (s *sampler) handle(ctx context.Context, charges []sampled) error {
	for _, r := range [][]string{
		{"/v1/refunds", "charge", charges[4].ID},
		{"/v1/refunds", "charge", charges[11].ID, "amount", "500", "reason", "requested_by_customer"},
		{"/v1/refunds", "charge", charges[20].ID, "reason", "duplicate"},
		{"/v1/charges", "amount", "5400", "currency", "usd", "source", "tok_visa", "capture", "false",
			"description", "2 × Umbrella, on order"},
		{"/v1/charges", "amount", "3200", "currency", "usd", "source", "tok_createDispute",
			"description", "1 × Bookends"},
		// A card whose money is available at once, so that there is something to pay out.
		{"/v1/charges", "amount", "24000", "currency", "usd", "source", "tok_bypassPending",
			"description", "10 × Ratchet spanner"},
		{"/v1/payouts", "amount", "5000", "currency", "usd", "description", "First payout"},
	} {
		if _, err := s.post(ctx, r[0], r[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// sampled is an object that a request made.
type sampled struct{ ID string }

// sampleTries is how often a request is sent under its key. Readers kill the demo's processes
// meanwhile.
const sampleTries = 20

// post sends a request under the next key of the sample. A declined card is a response, too.
func (s *sampler) post(ctx context.Context, path string, params ...string) (made sampled, err error) {
	s.sent++
	form := url.Values{"metadata[sample]": {"yes"}}
	for i := 0; i < len(params); i += 2 {
		form.Set(params[i], params[i+1])
	}
	err = s.send(ctx, http.MethodPost, path, fmt.Sprintf("sample-%d", s.sent), form, &made)
	return made, err
}

// send repeats a request until it is answered.
func (s *sampler) send(ctx context.Context, method, path, key string, form url.Values, into any) (err error) {
	for try := range sampleTries {
		r, wrong := http.NewRequestWithContext(ctx, method, s.base+path, strings.NewReader(form.Encode()))
		if wrong != nil {
			return wrong
		}
		if method == http.MethodPost {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Idempotency-Key", key)
		}
		status, failed := s.do(r, into)
		switch {
		case failed == nil && (status == http.StatusOK || status == http.StatusPaymentRequired):
			return nil
		case failed == nil && status < 500 && status != http.StatusConflict && status != http.StatusTooManyRequests:
			return fmt.Errorf("%s %s: status %d", method, path, status)
		}
		err = fmt.Errorf("%s %s: status %d, %v", method, path, status, failed)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(try+1) * 100 * time.Millisecond):
		}
	}
	return err
}

// do sends a request with the demo shop's key, and reads the answer.
func (s *sampler) do(r *http.Request, into any) (status int, err error) {
	r.Header.Set("Authorization", "Bearer "+merchants[0].secret)
	answer, err := s.http.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, json.Unmarshal(body, into)
}
