package stripecli

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apiversion"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/wire"
)

const (
	// sendWithin is how long a client may take to read a message.
	sendWithin = 10 * time.Second
	// askEvery is how often the client is asked whether it is still there. It pings more
	// often itself, but answers to a ping cannot be seen from here.
	askEvery = 20 * time.Second
	// longestMessage is larger than any event: a client returns the whole event with what
	// its server answered.
	longestMessage = 1 << 20
)

// Why a connection ends here.
const (
	goingAway  = "the server is stopping"
	superseded = "the session has ended, or has a newer connection"
)

// socket is the connection of a session.
type socket struct {
	hub            *Hub
	conn           *websocket.Conn
	AccountID      string
	ID             string
	Livemode       bool
	Feature        string
	Connection     int
	DefaultVersion apiversion.Version
	CreatedAt      time.Time

	waits   chan struct{}
	reason  atomic.Pointer[string] // why we close it
	end     context.CancelFunc
	pending map[int64]bool // log lines that were sent and are not acknowledged
	acked   chan int64
}

func (s *socket) key() sessionKey { return sessionKey{s.AccountID, s.ID} }

// wake says that something waits to be sent. It never blocks.
func (s *socket) wake() {
	select {
	case s.waits <- struct{}{}:
	default:
	}
}

func (s *socket) close(reason string) {
	s.reason.CompareAndSwap(nil, &reason)
	s.end()
}

// A newer connection takes the session over from an older one, which may be at
// another process.
const connect = `
	UPDATE cli_sessions s SET connection = s.connection + 1, seen_at = clock_timestamp()
	WHERE s.account_id = @account_id AND s.id = @id AND s.feature = @feature AND s.ended_at IS NULL
	  AND EXISTS (SELECT FROM api_keys k
	              WHERE k.id = s.key_id AND k.account_id = s.account_id
	                AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp()))
	RETURNING s.account_id, s.id, s.livemode, s.feature, s.connection, s.default_version, s.created_at,
	          clock_timestamp() - s.created_at AS age`

type connected struct {
	AccountID      string
	ID             string
	Livemode       bool
	Feature        string
	Connection     int
	DefaultVersion apiversion.Version
	CreatedAt      time.Time
	Age            time.Duration
}

// Connect serves the WebSocket of a session until either side closes it.
func (h *Hub) Connect(w http.ResponseWriter, r *http.Request, accountID string) {
	found, err := h.find(r, accountID)
	switch {
	case err != nil:
		h.Log.ErrorContext(r.Context(), "cannot open a session of the Stripe CLI", "error", err)
		refuse(w, apierror.Unavailable())
		return
	case found == nil:
		e := apierror.Invalid("", "Unknown WebSocket ID.")
		e.Status = http.StatusNotFound
		refuse(w, e)
		return
	}
	if found.Feature == RequestLogs && !waitUntilKnown(r.Context(), found.Age) {
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	s := &socket{hub: h, AccountID: found.AccountID, ID: found.ID, Livemode: found.Livemode, Feature: found.Feature,
		Connection: found.Connection, DefaultVersion: found.DefaultVersion, CreatedAt: found.CreatedAt,
		waits: make(chan struct{}, 1), end: cancel, pending: map[int64]bool{}, acked: make(chan int64, linesAtOnce)}
	if !h.add(s) {
		refuse(w, apierror.Unavailable())
		return
	}
	defer h.remove(s)
	s.conn, err = websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{Protocol}})
	if err != nil {
		return // Accept has answered
	}
	s.conn.SetReadLimit(longestMessage)
	s.serve(ctx)
}

func (h *Hub) find(r *http.Request, accountID string) (*connected, error) {
	sessionID := sessionOf(h.Keys, accountID, r.Header.Get("Websocket-Id"))
	if sessionID == "" {
		return nil, nil
	}
	found, err := query[connected](r.Context(), h, connect, postgres.Args{"account_id": accountID, "id": sessionID,
		"feature": r.URL.Query().Get("websocket_feature")})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// waitUntilKnown lets a session that tails the log open only when all processes know of
// it. From the moment the client says that it is ready, no request is missing.
func waitUntilKnown(ctx context.Context, age time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(2*learnEvery - age):
		return true
	}
}

func refuse(w http.ResponseWriter, e *apierror.Error) {
	body, _ := wire.Encode(apierror.Envelope{Error: e}) // an Error is made of texts
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_, _ = w.Write(body) // the client may be gone
}

// serve sends and receives until the connection ends, and then returns what the client
// has not acknowledged to the queue.
func (s *socket) serve(ctx context.Context) {
	defer func() { _ = s.conn.CloseNow() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.Feature == Webhooks {
		s.release(ctx) // what an earlier connection has sent is sent again
	}
	go func() {
		defer cancel()
		s.receive(ctx)
	}()
	s.wake()
	err := s.sendAll(ctx)
	if err != nil && ctx.Err() == nil {
		s.hub.Log.DebugContext(ctx, "connection of the Stripe CLI ended", "session", s.ID, "error", err)
	}
	if reason := s.reason.Load(); reason != nil {
		_ = s.conn.Close(websocket.StatusGoingAway, *reason) // the client may be gone
	}
	if s.Feature == Webhooks {
		s.release(context.WithoutCancel(ctx))
	}
}

// sendAll sends what is due until the connection ends.
func (s *socket) sendAll(ctx context.Context) error {
	send := s.sendEvents
	if s.Feature == RequestLogs {
		send = s.sendLines
	}
	ask := time.NewTicker(askEvery)
	defer ask.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case number := <-s.acked:
			delete(s.pending, number)
		case <-s.waits:
			err = send(ctx)
		case <-ask.C:
			err = s.ping(ctx)
		}
		if err != nil {
			return err
		}
	}
}

func (s *socket) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	return s.conn.Ping(ctx)
}

func (s *socket) write(ctx context.Context, message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, text)
}

// reply is a message of the client: an event_ack or a webhook_response.
type reply struct {
	Type           string            `json:"type"`
	EventID        string            `json:"event_id"`
	ConversationID string            `json:"webhook_conversation_id"`
	Status         int               `json:"status"`
	Headers        map[string]string `json:"http_headers"`
	Body           string            `json:"body"`
}

// receive takes the client's messages, one after the other.
func (s *socket) receive(ctx context.Context) {
	for {
		_, text, err := s.conn.Read(ctx)
		if err != nil {
			return
		}
		var m reply
		if json.Unmarshal(text, &m) != nil {
			continue // a later client may say more than we understand
		}
		if err := s.take(ctx, m); err != nil && !errors.Is(err, context.Canceled) {
			s.hub.Log.ErrorContext(ctx, "cannot record what the Stripe CLI says", "session", s.ID, "error", err)
			return
		}
	}
}

func (s *socket) take(ctx context.Context, m reply) error {
	switch {
	case s.Feature == RequestLogs && m.Type == "event_ack":
		return s.lineWasRead(ctx, m.EventID)
	case s.Feature == Webhooks && m.Type == "event_ack":
		return s.acknowledged(ctx, m)
	case s.Feature == Webhooks && m.Type == "webhook_response":
		return s.answered(ctx, m)
	}
	return nil
}
