package stripecli

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/apiversion"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// CreateSessionParams are what POST /v1/stripecli/sessions takes.
type CreateSessionParams struct {
	DeviceName            *string  `form:"device_name,unset" max:"500"`
	WebsocketFeatures     []string `form:"websocket_features,required" max:"5"`
	ForwardToURL          string   `form:"forward_to_url" max:"5000"`
	ForwardConnectToURL   string   `form:"forward_connect_to_url" max:"5000"`
	ForwardThinToURL      string   `form:"forward_thin_to_url" max:"5000"`
	ForwardThinConnectURL string   `form:"forward_thin_connect_to_url" max:"5000"`
	Filters               string   `form:"filters" max:"5000"`
}

// SessionObject is the answer. It has neither an ID nor a kind, as at Stripe.
type SessionObject struct {
	WebsocketID                 string             `json:"websocket_id"`
	WebsocketURL                string             `json:"websocket_url"`
	WebsocketAuthorizedFeature  string             `json:"websocket_authorized_feature"`
	Secret                      string             `json:"secret"`
	ReconnectDelay              int                `json:"reconnect_delay"`
	DefaultVersion              apiversion.Version `json:"default_version"`
	LatestVersion               apiversion.Version `json:"latest_version"`
	DisplayConnectFilterWarning bool               `json:"display_connect_filter_warning"`
}

// reconnectDelay is after how many seconds the client opens a new connection. A
// balancer then spreads its sockets, and a server that is replaced loses them sooner.
const reconnectDelay = 120

// mostSessions is how many sessions with one feature an account may have in each mode.
// The schema has as many slots for listeners, behind those of the other endpoints.
const (
	mostSessions      = 16
	firstListenerSlot = 17
)

const sessionCreated = "cli_session_created"

// CreateSession starts a session for a client that listens or tails the log.
//
//	(nothing) ──▶ cli_session_created
//	      claim + session + listener + answer
//
// The answer is stored with its secrets encrypted.
var CreateSession = phase.Define("stripecli.session.create", 1,
	phase.Atomic(sessionCreated, createSession),
).Check(func(_ context.Context, _ phase.Reader, _ phase.Check, in *CreateSessionParams) error {
	if in.feature() == "" {
		return apierror.Invalid("websocket_features",
			"Invalid websocket_features: must contain webhooks or request_logs. There are no thin events (v2_events).")
	}
	_, err := parseFilters(in.Filters)
	return err
})

// feature is the one that the session is authorized for: a client names one of ours.
func (in CreateSessionParams) feature() string {
	for _, f := range in.WebsocketFeatures {
		if f == Webhooks || f == RequestLogs {
			return f
		}
	}
	return ""
}

func (in CreateSessionParams) device() string {
	if in.DeviceName == nil {
		return ""
	}
	return *in.DeviceName
}

func createSession(ctx context.Context, tx *phase.Tx, in CreateSessionParams, _ *struct{}) (phase.Outcome, error) {
	filters, err := parseFilters(in.Filters)
	if err != nil {
		return phase.Outcome{}, err
	}
	slot, err := makeRoom(ctx, tx, in.feature())
	if err != nil {
		return phase.Outcome{}, err
	}
	caller, sessionID := apirequest.Of(tx.Caller), tx.NewID(strings.TrimSuffix(sessionPrefix, "_"))
	tx.Write(insertSession, pgx.StrictNamedArgs{
		"account_id":      tx.AccountID,
		"id":              sessionID,
		"livemode":        tx.Livemode,
		"request_id":      tx.RequestID,
		"feature":         in.feature(),
		"key_id":          tx.Caller.Caller.Actor,
		"device_name":     in.device(),
		"filters":         filters.text(),
		"default_version": string(caller.DefaultVersion.OrCurrent()),
		"created_at":      tx.Now(),
	})
	if in.feature() == Webhooks {
		in.listen(tx, sessionID, slot)
	}
	object, err := in.object(tx, caller, sessionID)
	if err != nil {
		return phase.Outcome{}, err
	}
	object.DisplayConnectFilterWarning = len(filters.Account) > 0
	return phase.OK(sessionID, object), nil
}

func (in CreateSessionParams) object(
	tx *phase.Tx, caller apirequest.Context, sessionID string,
) (object SessionObject, err error) {
	_, key := tx.Keys(secret.Webhooks).Newest()
	object = SessionObject{
		WebsocketURL:               "ws" + strings.TrimPrefix(caller.BaseURL, "http") + SocketPath + tx.AccountID,
		WebsocketAuthorizedFeature: in.feature(),
		ReconnectDelay:             reconnectDelay,
		DefaultVersion:             caller.DefaultVersion.OrCurrent(),
		LatestVersion:              apiversion.Current,
	}
	object.WebsocketID, err = tx.EncryptInResponse(SocketID(key, tx.AccountID, sessionID))
	if err != nil {
		return object, err
	}
	object.Secret, err = tx.EncryptInResponse(signingSecret(key, tx.AccountID, tx.Livemode))
	return object, err
}

const insertSession = `
	INSERT INTO cli_sessions (account_id, id, livemode, request_id, feature, key_id, device_name, filters,
		default_version, created_at, seen_at)
	VALUES (@account_id, @id, @livemode, @request_id, @feature, @key_id, @device_name, @filters, @default_version,
		@created_at, clock_timestamp())`

const insertListener = `
	INSERT INTO webhook_endpoints (account_id, id, livemode, request_id, listener, slot, url, description,
		enabled_events, status, created_at, changed_at)
	VALUES (@account_id, @id, @livemode, @request_id, true, @slot, @url, @description, '{*}', 'enabled', @created_at,
		clock_timestamp())`

// listen makes the endpoint through which events are queued for the session. The
// client filters events itself, so the endpoint receives all of them.
func (in CreateSessionParams) listen(tx *phase.Tx, sessionID string, slot int) {
	description := "stripe listen"
	if device := in.device(); device != "" {
		description += " on " + device
	}
	tx.Write(insertListener, pgx.StrictNamedArgs{
		"account_id":  tx.AccountID,
		"id":          sessionID,
		"livemode":    tx.Livemode,
		"request_id":  tx.RequestID,
		"slot":        slot,
		"url":         forwardURL(in.ForwardToURL),
		"description": description,
		"created_at":  tx.Now(),
	})
}

// forwardURL is where the client forwards events to. It understands a port or a path
// alone, and sends what was typed.
func forwardURL(typed string) string {
	if typed == "" {
		return "stripe listen"
	}
	if _, err := strconv.Atoi(typed); err == nil {
		typed = "localhost:" + typed
	}
	if strings.HasPrefix(typed, "/") {
		typed = "localhost" + typed
	}
	if !strings.HasPrefix(typed, "http://") && !strings.HasPrefix(typed, "https://") {
		typed = "http://" + typed
	}
	return typed
}

// Sessions of one account are made one after the other, so that two at once do not go
// for one slot.
const takeTurns = `
	SELECT pg_advisory_xact_lock(hashtextextended('cli/' || @account_id || '/' || @livemode::boolean::text, 0))::text`

const selectOpen = `
	SELECT s.id, s.connection, coalesce(e.slot, 0) AS slot
	FROM cli_sessions s
	LEFT JOIN webhook_endpoints e ON e.account_id = s.account_id AND e.id = s.id
	WHERE s.account_id = @account_id AND s.livemode = @livemode AND s.feature = @feature AND s.ended_at IS NULL
	ORDER BY s.id`

type openSession struct {
	ID         string
	Connection int
	Slot       int
}

// makeRoom returns a free slot, or refuses. "stripe listen --print-secret" makes a
// session that it never opens: the oldest of those gives way.
func makeRoom(ctx context.Context, tx *phase.Tx, feature string) (slot int, err error) {
	args := resource.PrincipalOf(tx.Caller).Args()
	rows, err := tx.Query(ctx, takeTurns, args)
	if err != nil {
		return 0, err
	}
	if _, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return 0, err
	}
	args["feature"] = feature
	rows, err = tx.Query(ctx, selectOpen, args)
	if err != nil {
		return 0, err
	}
	open, err := pgx.CollectRows(rows, pgx.RowToStructByName[openSession])
	if err != nil {
		return 0, err
	}
	if len(open) < mostSessions {
		return freeSlot(open), nil
	}
	unused := slices.IndexFunc(open, func(s openSession) bool { return s.Connection == 0 })
	if unused < 0 {
		return 0, tooManySessions()
	}
	tx.Write(endSession, pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": open[unused].ID})
	return open[unused].Slot, nil
}

func freeSlot(open []openSession) int {
	slot := firstListenerSlot
	for slices.ContainsFunc(open, func(s openSession) bool { return s.Slot == slot }) {
		slot++
	}
	return slot
}

func tooManySessions() *apierror.Error {
	e := apierror.RateLimited("cli-sessions")
	e.Message = "You have reached the maximum of " + strconv.Itoa(mostSessions) +
		" open sessions of the Stripe CLI. Close one and try again."
	e.Retry = "false"
	return e
}

// Filters say which requests a session of "stripe logs tail" shows. Of each list one
// value must match; an empty list matches everything.
type Filters struct {
	Account        []string `json:"filter_account,omitempty"`
	IPAddress      []string `json:"filter_ip_address,omitempty"`
	HTTPMethod     []string `json:"filter_http_method,omitempty"`
	RequestPath    []string `json:"filter_request_path,omitempty"`
	RequestStatus  []string `json:"filter_request_status,omitempty"`
	Source         []string `json:"filter_source,omitempty"`
	StatusCode     []string `json:"filter_status_code,omitempty"`
	StatusCodeType []string `json:"filter_status_code_type,omitempty"`
}

func parseFilters(text string) (f Filters, err error) {
	if text == "" {
		return f, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return f, apierror.Invalid("filters", "Invalid filters: %s", form.Quote(text))
	}
	return f, nil
}

func (f Filters) text() string {
	text, _ := json.Marshal(f) // lists of texts
	return string(text)
}
