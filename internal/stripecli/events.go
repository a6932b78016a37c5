package stripecli

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apiversion"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/webhook"
)

const (
	// eventsAtOnce is how many events a client may have that it has not acknowledged.
	eventsAtOnce = 16
	// claimTime is how long an event is not sent again while its acknowledgment is missing.
	claimTime = time.Minute
	// longestBody is what is kept of a server's answer. The client sends less.
	longestBody = 16 << 10
)

// webhookEvent brings the client an event, with the headers to forward.
type webhookEvent struct {
	Type           string            `json:"type"`
	WebhookID      string            `json:"webhook_id"`
	ConversationID string            `json:"webhook_conversation_id"`
	Endpoint       eventEndpoint     `json:"endpoint"`
	Headers        map[string]string `json:"http_headers"`
	Payload        string            `json:"event_payload"`
}

// eventEndpoint says in which version the event is: nil is the account's. A client
// takes one of the two, depending on its flag --latest.
type eventEndpoint struct {
	APIVersion *string `json:"api_version"`
}

const claimEvents = `
	WITH next AS (
		SELECT account_id, event_id, endpoint_id
		FROM webhook_deliveries
		WHERE account_id = @account_id AND endpoint_id = @endpoint_id AND state = 'pending' AND claimed_by IS NULL
		  AND due_at <= statement_timestamp()
		  AND EXISTS (SELECT FROM cli_sessions s
		              WHERE s.account_id = @account_id AND s.id = @endpoint_id AND s.connection = @connection
		                AND s.ended_at IS NULL)
		ORDER BY due_at, event_id
		LIMIT greatest(0, @at_once - (SELECT count(*) FROM webhook_deliveries
		                              WHERE account_id = @account_id AND endpoint_id = @endpoint_id
		                                AND claimed_by IS NOT NULL))
		FOR NO KEY UPDATE SKIP LOCKED
	)` + webhook.StartAttempts

type claimed struct {
	EventID   string
	Attempt   int32
	StartedAt time.Time
}

// sendEvents sends what is due, as far as the client keeps up. Its acknowledgments
// make room for more.
func (s *socket) sendEvents(ctx context.Context) error {
	all, err := query[claimed](ctx, s.hub, claimEvents, postgres.Args{"account_id": s.AccountID, "endpoint_id": s.ID,
		"connection": s.Connection, "at_once": eventsAtOnce, "owner": s.hub.Owner, "claim_time": claimTime})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b claimed) int { return cmp.Compare(a.EventID, b.EventID) })
	for _, c := range all {
		if err := s.sendEvent(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// sendEvent sends an event in the account's version, and in the newest one if that is another.
func (s *socket) sendEvent(ctx context.Context, c claimed) error {
	versions := []*string{nil}
	if latest := string(apiversion.Current); string(s.DefaultVersion) != latest {
		versions = append(versions, &latest)
	}
	for _, version := range versions {
		to := webhook.EndpointKey{AccountID: s.AccountID, EndpointID: s.ID}
		body, err := s.hub.Render(ctx, s.hub.Pool, to, s.Livemode, version, c.EventID)
		if err != nil {
			s.hub.Log.ErrorContext(ctx, "cannot render an event", "event", c.EventID, "account", s.AccountID,
				"error", err)
			return s.failed(ctx, c, "the event cannot be rendered")
		}
		var secrets []string
		for _, key := range s.hub.Keys.InUse() {
			secrets = append(secrets, signingSecret(key, s.AccountID, s.Livemode))
		}
		err = s.write(ctx, webhookEvent{
			Type:           "webhook_event",
			WebhookID:      s.ID,
			ConversationID: conversation(c.EventID, c.Attempt),
			Endpoint:       eventEndpoint{version},
			Headers: map[string]string{
				"Content-Type":     "application/json; charset=utf-8",
				"User-Agent":       webhook.UserAgent,
				"Accept":           webhook.Accept,
				"Cache-Control":    "no-cache",
				"Stripe-Signature": webhook.Sign(body, c.StartedAt, secrets...),
			},
			Payload: string(body),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// conversation names an attempt on the wire: wc_, the event's ID without its prefix,
// and the number of the attempt. The client returns it, so nothing about a message has
// to be remembered here.
func conversation(eventID string, attempt int32) string {
	return "wc_" + strings.TrimPrefix(eventID, "evt_") + "_" + strconv.Itoa(int(attempt))
}

func attemptOf(conversationID string) (eventID string, attempt int32, ok bool) {
	rest, is := strings.CutPrefix(conversationID, "wc_")
	name, number, has := strings.Cut(rest, "_")
	n, err := strconv.ParseInt(number, 10, 32)
	return "evt_" + name, int32(n), is && has && err == nil
}

// An event that is resent during an earlier attempt is due again when that one ends.
const leaveDelivery = `
	SET state = CASE WHEN d.resent THEN 'pending' WHEN @ok::boolean THEN 'succeeded' ELSE 'failed' END,
	    failures = CASE WHEN d.resent THEN 0 WHEN @ok THEN d.failures ELSE d.failures + 1 END,
	    due_at = CASE WHEN d.resent THEN clock_timestamp() END,
	    ended_at = CASE WHEN NOT d.resent THEN clock_timestamp() END,
	    claimed_by = NULL, claimed_until = NULL, resent = false`

// The first end of an attempt counts, but a server's answer says more than the client's
// acknowledgment. Of the answers of several servers, a failure stays.
const endAttempt = `
	WITH ended AS (
		UPDATE webhook_attempts
		SET ended_at = clock_timestamp(), status = @status, headers = @headers, body = @body, error = @error,
		    duration_ms = extract(epoch FROM clock_timestamp() - started_at) * 1000
		WHERE account_id = @account_id AND event_id = @event_id AND endpoint_id = @endpoint_id AND attempt = @attempt
		  AND (ended_at IS NULL OR @answers::boolean AND status BETWEEN 200 AND 299)
		RETURNING account_id, event_id, endpoint_id, attempt
	)
	UPDATE webhook_deliveries d` + leaveDelivery + `
	FROM ended
	WHERE (d.account_id, d.event_id, d.endpoint_id, d.attempts) =
	      (ended.account_id, ended.event_id, ended.endpoint_id, ended.attempt)
	  AND (d.state = 'succeeded' OR d.claimed_by IS NOT NULL)`

// outcome is how an attempt ended.
type outcome struct {
	status  *int
	headers map[string][]string
	body    string
	err     *string
	answers bool // a server has answered
}

func (o outcome) ok() bool { return o.status != nil && *o.status >= 200 && *o.status <= 299 }

func (s *socket) record(ctx context.Context, eventID string, attempt int32, o outcome) error {
	headers, err := json.Marshal(o.headers)
	if err != nil {
		return err
	}
	body := o.body[:min(len(o.body), longestBody)]
	return s.hub.exec(ctx, endAttempt, postgres.Args{"account_id": s.AccountID, "event_id": eventID,
		"endpoint_id": s.ID, "attempt": attempt, "status": o.status, "headers": string(headers), "body": []byte(body),
		"error": o.err, "answers": o.answers, "ok": o.ok()})
}

// receivedBody is recorded until the client reports one. It reports none
// for an event that it forwards nowhere, or whose server it cannot reach.
const receivedBody = "The Stripe CLI received the event. It reported no response of a server."

// acknowledged takes an event off the queue: the client has it.
func (s *socket) acknowledged(ctx context.Context, m reply) error {
	eventID, attempt, ok := attemptOf(m.ConversationID)
	if !ok {
		return nil
	}
	status := 200
	if err := s.record(ctx, eventID, attempt, outcome{status: &status, body: receivedBody}); err != nil {
		return err
	}
	s.wake()
	return nil
}

// answered records what the server said that the client forwarded an event to.
func (s *socket) answered(ctx context.Context, m reply) error {
	eventID, attempt, ok := attemptOf(m.ConversationID)
	if !ok || m.Status < 100 || m.Status > 599 {
		return nil
	}
	headers := map[string][]string{}
	for name, value := range m.Headers {
		headers[name] = []string{value}
	}
	return s.record(ctx, eventID, attempt, outcome{status: &m.Status, headers: headers, body: m.Body, answers: true})
}

func (s *socket) failed(ctx context.Context, c claimed, reason string) error {
	return s.record(ctx, c.EventID, c.Attempt, outcome{err: &reason})
}

// Only the latest connection decides what is sent again.
const releaseEvents = `
	WITH released AS (
		UPDATE webhook_deliveries d SET claimed_by = NULL, claimed_until = NULL, resent = false
		WHERE d.account_id = @account_id AND d.endpoint_id = @endpoint_id AND d.claimed_by IS NOT NULL
		  AND EXISTS (SELECT FROM cli_sessions s
		              WHERE s.account_id = @account_id AND s.id = @endpoint_id AND s.connection = @connection)
		RETURNING d.account_id, d.event_id, d.endpoint_id, d.attempts
	)
	UPDATE webhook_attempts a SET ended_at = clock_timestamp(), error = 'the Stripe CLI disconnected'
	FROM released r
	WHERE (a.account_id, a.event_id, a.endpoint_id, a.attempt) =
	      (r.account_id, r.event_id, r.endpoint_id, r.attempts) AND a.ended_at IS NULL`

// release returns to the queue what was sent and not acknowledged.
func (s *socket) release(ctx context.Context) {
	err := s.hub.exec(ctx, releaseEvents,
		postgres.Args{"account_id": s.AccountID, "endpoint_id": s.ID, "connection": s.Connection})
	if err != nil { // the claims expire
		s.hub.Log.WarnContext(ctx, "cannot release events of the Stripe CLI", "session", s.ID, "error", err)
	}
}
