// Package supervisor lets the pages of a demo kill the demo's processes.
//
//	page ──POST──▶ serve ──POST, with the secret──▶ the demo ──SIGKILL──▶ serve, work, …
//
// The demo listens on its own port and tells serve, and nothing else, where that is and what
// the secret is. Outside a demo there is no supervisor, and the pages have no route that kills
// a process.
package supervisor

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// The variables by which a demo tells serve of its supervisor.
const (
	URLVariable    = "RATCHET_SUPERVISOR_URL"
	SecretVariable = "RATCHET_SUPERVISOR_SECRET"
)

// The processes that can be killed by name. Any process of the demo can be by its number.
const (
	Server = "serve"
	Worker = "work"
)

// Client asks the supervisor of the demo that started this process.
type Client struct {
	url, secret string
	http        http.Client
}

// FromEnvironment is nil if no demo started this process.
func FromEnvironment() *Client {
	at, secret := os.Getenv(URLVariable), os.Getenv(SecretVariable)
	if at == "" || secret == "" {
		return nil
	}
	return &Client{url: at, secret: secret, http: http.Client{Timeout: 5 * time.Second}}
}

// ErrNotFound says that the demo has no such process.
var ErrNotFound = errors.New("process not found")

// Kill has a process of the demo killed with SIGKILL, by its name or its number. It
// returns a moment before that happens, so that a process that asks for its own end
// can still answer its client.
func (c *Client) Kill(ctx context.Context, process string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/kill",
		strings.NewReader(url.Values{"process": {process}}.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Authorization", "Bearer "+c.secret)
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("call the supervisor: %w", err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusAccepted:
		return nil
	case http.StatusNotFound:
		return ErrNotFound
	}
	return fmt.Errorf("the supervisor responded with %s", response.Status)
}

// killAfter is how long a process that asks for its own end has to answer its client.
const killAfter = 150 * time.Millisecond

// Handler answers clients that know the secret. find returns what kills a process, by its
// name or its number, or nil.
func Handler(secret string, find func(process string) (kill func())) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /kill", func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Get("Authorization")
		if subtle.ConstantTimeCompare([]byte(given), []byte("Bearer "+secret)) != 1 {
			http.Error(w, "not allowed", http.StatusUnauthorized)
			return
		}
		kill := find(r.PostFormValue("process"))
		if kill == nil {
			http.Error(w, "process not found", http.StatusNotFound)
			return
		}
		time.AfterFunc(killAfter, kill)
		w.WriteHeader(http.StatusAccepted)
	})
	return mux
}
