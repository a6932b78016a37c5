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
	"strings"
	"time"
)

// A new demo gets a shop's first day (sample_day.go), so that its pages have something to show. All of
// it goes through the API, in the background, like any merchant's requests, and is stamped with the
// time at which it happens: the time of a record is the database's, and nothing here sets it back
// (docs/decisions/0030).

// wantsSample reports whether this demo should get the sample, or the rest of it.
func (d *demo) wantsSample() bool {
	if d.Fresh {
		_ = os.Remove(d.sampleFile()) // said so of data that is gone
	}
	_, err := os.Stat(d.sampleFile())
	return !d.Empty && errors.Is(err, fs.ErrNotExist)
}

// sampleFile says that the sample is complete.
func (d *demo) sampleFile() string { return filepath.Join(d.dir.path, "sample") }

// addSample fills the demo. If a run is stopped in the middle, the next start continues it: every
// request has its own key, so the API repeats the earlier responses.
func (d *demo) addSample(ctx context.Context) {
	defer d.console.hideRequests()()
	s := sampler{base: d.base, hookAddr: d.sampleAddr, doomed: d.startDoomed,
		http: http.Client{Timeout: 30 * time.Second}}
	err := s.fill(ctx)
	if err == nil {
		err = replaceFile(d.sampleFile(), "complete\n")
	}
	if err != nil && ctx.Err() == nil {
		d.console.sayf("the sample data is incomplete: %v; the next start adds the rest", err)
	}
}

// sampler sends the sample's requests.
type sampler struct {
	base     string
	hookAddr string // where the sample receives webhooks
	doomed   func(context.Context) (base string, end func(), err error)
	http     http.Client
	sent     int
}

// fill does nothing in a shop that already has other payments.
func (s *sampler) fill(ctx context.Context) error {
	own, err := s.hasOther(ctx)
	if err != nil || own {
		return err
	}
	return s.open(ctx)
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

// sampled is an object that a request made.
type sampled struct {
	ID           string
	DefaultPrice string `json:"default_price"` // of a product
	LatestCharge string `json:"latest_charge"` // of a payment
}

// sampleTries is how often a request is sent under its key. Readers kill the demo's processes
// meanwhile.
const sampleTries = 20

// create makes an object, marked as the sample's, with the parameters in pairs.
func (s *sampler) create(ctx context.Context, path string, params ...string) (sampled, error) {
	return s.post(ctx, path, append(params, "metadata[sample]", "yes")...)
}

// post sends a request under the next key of the sample. A declined card is a response, too.
func (s *sampler) post(ctx context.Context, path string, params ...string) (made sampled, err error) {
	s.sent++
	err = s.send(ctx, http.MethodPost, path, fmt.Sprintf("sample-%d", s.sent), formOf(params), &made)
	return made, err
}

func formOf(params []string) url.Values {
	form := url.Values{}
	for i := 0; i < len(params); i += 2 {
		form.Set(params[i], params[i+1])
	}
	return form
}

// send repeats a request until it is answered.
func (s *sampler) send(ctx context.Context, method, path, key string, form url.Values, into any) (err error) {
	for try := range sampleTries {
		r, wrong := newRequest(ctx, method, s.base+path, key, form)
		if wrong != nil {
			return wrong
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

// newRequest makes a request with the demo shop's API key.
func newRequest(ctx context.Context, method, address, key string, form url.Values) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+merchants[0].secret)
	if method != http.MethodGet {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Idempotency-Key", key)
	}
	return r, nil
}

// do sends a request and reads the answer.
func (s *sampler) do(r *http.Request, into any) (status int, err error) {
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
