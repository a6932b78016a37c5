package page

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/lab"
)

// Variables that a demo sets for its lab.
const (
	AddrVariable = "RATCHET_LAB_ADDR" // where the lab's process listens
	RunsVariable = "RATCHET_LAB_RUNS" // the directory in which it keeps runs
	URLVariable  = "RATCHET_LAB_URL"  // where `ratchet serve` finds the demo's lab
)

// Ran is what the lab's process answers: the id of the run it has made.
type Ran struct {
	ID string `json:"id"`
}

// maxRun is far above any trace.
const maxRun = 1 << 20

// Remote is the lab of a demo, which runs in a separate process.
type Remote struct{ At *url.URL }

var _ Live = Remote{}

// Run implements Live.
func (l Remote) Run(ctx context.Context, design, fault string) (id string, err error) {
	form := url.Values{"design": {design}, "fault": {fault}}
	body, err := l.ask(ctx, http.MethodPost, "/runs", form)
	if err != nil {
		return "", err
	}
	var ran Ran
	if err := json.Unmarshal(body, &ran); err != nil {
		return "", fmt.Errorf("read the lab's answer: %w", err)
	}
	return ran.ID, nil
}

// Find implements Live.
func (l Remote) Find(ctx context.Context, id string) (lab.Run, error) {
	body, err := l.ask(ctx, http.MethodGet, "/runs/"+url.PathEscape(id), nil)
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

func (l Remote) ask(ctx context.Context, method, path string, form url.Values) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, l.At.JoinPath(path).String(),
		strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("reach the lab: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRun))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the lab's answer: %w", err)
	case response.StatusCode == http.StatusNotFound:
		return nil, ErrNoRun
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the lab answered %s: %s", response.Status, strings.TrimSpace(string(body)))
	}
	return body, nil
}
