//go:build unix

package sdk_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

const notificationSecret = "the secret that the acquirer signs with"

// relay is between the acquirer and the API: it keeps what passes, and can
// deliver it again, or turn it round.
type relay struct {
	server *httptest.Server

	mu     sync.Mutex
	to     string
	passed []letter
	held   bool
}

type letter struct {
	body      []byte
	signature string
}

func newRelay(t *testing.T) *relay {
	r := &relay{}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

// ServeHTTP hands a letter over. While the relay is held, it keeps it and says
// that it could not: then it is the test that delivers.
func (r *relay) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	l := letter{body, request.Header.Get(acquirer.SignatureHeader)}
	r.mu.Lock()
	held := r.held || r.to == ""
	r.passed = append(r.passed, l)
	r.mu.Unlock()
	status := http.StatusServiceUnavailable
	if err == nil && !held {
		status = r.deliver(l)
	}
	w.WriteHeader(status)
}

// deliver returns the API's answer; 0 is none.
func (r *relay) deliver(l letter) int {
	request, err := http.NewRequest(http.MethodPost, r.to+acquirer.NotificationsPath, bytes.NewReader(l.body))
	if err != nil {
		return 0
	}
	request.Header.Set(acquirer.SignatureHeader, l.signature)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return http.StatusBadGateway
	}
	defer response.Body.Close()
	return response.StatusCode
}

func (r *relay) hold(held bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = held
}

// letters are those that passed and say something, each once.
func (r *relay) letters(saying string) (found []letter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := map[string]bool{}
	for _, l := range r.passed {
		if bytes.Contains(l.body, []byte(saying)) && !seen[string(l.body)] {
			seen[string(l.body)] = true
			found = append(found, l)
		}
	}
	return found
}

// installNotified is an installation to which the acquirer sends notifications, and
// a worker. outside is more of the acquirer's environment.
func installNotified(t *testing.T, outside ...string) (*installation, *relay) {
	t.Helper()
	db, journal, r := pgtest.New(t), pgtest.New(t), newRelay(t)
	acquirer := start(t, "acquirer", append([]string{"RATCHET_ACQUIRER_SECRET=" + acquirerSecret,
		"RATCHET_ACQUIRER_DATABASE_URL=" + pgtest.Sparing(journal.URL),
		"RATCHET_NOTIFICATION_SECRET=" + notificationSecret, "RATCHET_ACQUIRER_NOTIFY_URL=" + r.server.URL,
		"RATCHET_ACQUIRER_NOTIFY_DELAY=20ms",
		"RATCHET_ACQUIRER_SETTLE_EVERY=200ms"}, outside...)...)
	env := []string{modest, "RATCHET_SECRET=" + rootSecret, "RATCHET_DATABASE_URL=" + pgtest.Sparing(db.URL),
		"RATCHET_ACQUIRER_URL=http://" + acquirer, "RATCHET_ACQUIRER_SECRET=" + acquirerSecret,
		"RATCHET_NOTIFICATION_SECRET=" + notificationSecret}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = "http://" + start(t, "serve", env...)
	launch(t, []string{"work"}, env)
	return &installation{r.to, db.Pool, journal.Pool, env}, r
}
