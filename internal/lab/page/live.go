package page

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/lab"
)

// Variables that a demo sets for its lab.
const (
	AddrVariable = "RATCHET_LAB_ADDR" // where the lab's process listens
	RunsVariable = "RATCHET_LAB_RUNS" // the directory in which it keeps runs
	URLVariable  = "RATCHET_LAB_URL"  // where `ratchet serve` finds the demo's lab
)

// Ran is a run that the lab's process has made, and its id.
type Ran struct {
	ID  string  `json:"id"`
	Run lab.Run `json:"run"` // without its events
}

// Progress is how far a matrix is that the lab's process runs.
type Progress struct {
	Of     int    `json:"of"`
	Done   []Ran  `json:"done"`
	MS     int64  `json:"ms"`
	Over   bool   `json:"over"`
	Failed string `json:"failed,omitempty"` // why it ended before its end
}

// maxAnswer is far above any trace and any matrix.
const maxAnswer = 1 << 20

// Remote is the lab of a demo, which runs in a separate process.
type Remote struct{ At *url.URL }

var _ Live = Remote{}

// Run implements Live.
func (l Remote) Run(ctx context.Context, designs []string, fault string, s lab.Settings) (ran []Ran, err error) {
	form := url.Values{"design": designs, "fault": {fault}, "retries": {string(s.Retries)}, "store": {string(s.Store)}}
	if s.LockSeconds > 0 {
		form.Set("lock", strconv.Itoa(s.LockSeconds))
	}
	err = l.ask(ctx, http.MethodPost, "/runs", form.Encode(), &ran)
	return ran, err
}

// Keep implements Live.
func (l Remote) Keep(ctx context.Context, trace string) (id string, err error) {
	var ran Ran
	err = l.ask(ctx, http.MethodPost, "/traces", trace, &ran)
	return ran.ID, err
}

// StartMatrix implements Live.
func (l Remote) StartMatrix(ctx context.Context) (id string, err error) {
	var ran Ran
	err = l.ask(ctx, http.MethodPost, "/matrices", "", &ran)
	return ran.ID, err
}

// Matrix implements Live.
func (l Remote) Matrix(ctx context.Context, id string) (p Progress, err error) {
	err = l.ask(ctx, http.MethodGet, "/matrices/"+url.PathEscape(id), "", &p)
	return p, err
}

// Find implements Live.
func (l Remote) Find(ctx context.Context, id string) (lab.Run, error) {
	body, err := l.bytes(ctx, http.MethodGet, "/runs/"+url.PathEscape(id), "")
	if err != nil {
		return lab.Run{}, err
	}
	runs, err := lab.Read(strings.NewReader(string(body)))
	if err != nil {
		return lab.Run{}, err
	}
	if len(runs) != 1 {
		return lab.Run{}, fmt.Errorf("the lab answered with %d runs", len(runs))
	}
	return runs[0], nil
}

// ask reads an answer in JSON.
func (l Remote) ask(ctx context.Context, method, path, body string, into any) error {
	text, err := l.bytes(ctx, method, path, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read the lab's answer: %w", err)
	}
	return nil
}

func (l Remote) bytes(ctx context.Context, method, path, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, l.At.JoinPath(path).String(), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("reach the lab: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the lab's answer: %w", err)
	case response.StatusCode == http.StatusNotFound:
		return nil, ErrNoRun
	case response.StatusCode == http.StatusBadRequest:
		return nil, &BadTrace{strings.TrimSpace(string(text))}
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the lab answered %s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	return text, nil
}

// BadTrace says what is wrong with what a reader has sent.
type BadTrace struct{ Reason string }

// Error is the reason, a sentence for the reader of the page.
func (e *BadTrace) Error() string { return e.Reason }
