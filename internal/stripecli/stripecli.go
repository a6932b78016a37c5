// Package stripecli serves Stripe's command line: "stripe listen" receives an
// account's events, and "stripe logs tail" its requests, both over a WebSocket.
//
// A session is a row. One that listens is a webhook endpoint, too, so an event is
// queued for it in the transaction of its change like for any other endpoint, also
// while its client reconnects. Whichever API server has the socket claims what is due,
// sends it, and records what the client says became of it:
//
//	pending ──claim──▶ sent ──event_ack──▶ succeeded ──webhook_response──▶ succeeded or failed
//	   ▲                 │
//	   └─ disconnected ──┘
//
// The client may receive an event twice, and never misses one.
package stripecli

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/webhook"
)

// Features of a session, in the client's words.
const (
	Webhooks    = "webhooks"
	RequestLogs = "request_logs"
)

// SocketPath is where sessions connect. The account's ID follows.
const SocketPath = "/subscribe/"

// Protocol is the subprotocol that the client asks for.
const Protocol = "stripecli-devproxy-v1"

// Prefixes of a session's ID, in our tables and on the wire.
const (
	sessionPrefix = "wh_"
	socketPrefix  = "cliws_"
)

// macDigits of hexadecimal are 160 bits.
const macDigits = 40

// SocketID is what opens a session's WebSocket: its ID, and a proof that we issued
// it. The client sends no API key there.
func SocketID(key []byte, accountID, sessionID string) string {
	return socketPrefix + strings.TrimPrefix(sessionID, sessionPrefix) + "_" + proof(key, accountID, sessionID)
}

func proof(key []byte, accountID, sessionID string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("websocket of " + accountID + "/" + sessionID))
	return hex.EncodeToString(mac.Sum(nil))[:macDigits]
}

// sessionOf is the session that a WebSocket ID opens, or "" if we did not issue it
// for this account.
func sessionOf(keys secret.Keys, accountID, socketID string) string {
	rest, is := strings.CutPrefix(socketID, socketPrefix)
	name, given, has := strings.Cut(rest, "_")
	if !is || !has {
		return ""
	}
	sessionID := sessionPrefix + name
	for _, key := range keys.All() {
		if hmac.Equal([]byte(given), []byte(proof(key, accountID, sessionID))) {
			return sessionID
		}
	}
	return ""
}

// signingSecret is what events to all listeners of an account's mode are signed
// with. It stays the same, because people paste it into their settings. While the root
// secret is rotated, events are signed with that of each root secret.
func signingSecret(key []byte, accountID string, livemode bool) string {
	mode := "test"
	if livemode {
		mode = "live"
	}
	return webhook.Secret(key, webhook.EndpointKey{AccountID: accountID, EndpointID: "stripe listen/" + mode}, 1)
}
