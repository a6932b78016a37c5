package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// hooks is the merchant's server of all clients. Each has its own path there:
// Ratchet posts an event to it, and the client gets the event from it.
type hooks struct {
	url    string
	server http.Server

	mu   sync.Mutex
	sent map[string]chan delivery // by path
}

// delivery is a webhook as it came.
type delivery struct {
	Body      string `json:"body"`
	Signature string `json:"signature"`
}

// deliverWithin is beyond what a worker needs to send an event, on a busy machine.
const deliverWithin = 30 * time.Second

func listen() (*hooks, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &hooks{url: "http://" + l.Addr().String(), sent: map[string]chan delivery{}}
	h.server.Handler = h
	go h.server.Serve(l) //nolint:errcheck // it ends when close is called
	return h, nil
}

func (h *hooks) close() { _ = h.server.Close() }

func (h *hooks) at(path string) chan delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sent[path] == nil {
		h.sent[path] = make(chan delivery, 10)
	}
	return h.sent[path]
}

func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	deliveries := h.at(r.URL.Path)
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		select {
		case deliveries <- delivery{Body: string(body), Signature: r.Header.Get("Stripe-Signature")}:
		default: // unused
		}
		return
	}
	select {
	case d := <-deliveries:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(d) // the client has gone
	case <-time.After(deliverWithin):
		http.Error(w, "no event came", http.StatusGatewayTimeout)
	case <-r.Context().Done():
	}
}
