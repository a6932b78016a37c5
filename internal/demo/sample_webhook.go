package demo

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// oneFails is how many of the sample's webhooks there are for each that fails.
const oneFails = 12

// subscribe creates a webhook endpoint, and receives its events until hangUp.
func (s *sampler) subscribe(ctx context.Context) (hangUp func(), err error) {
	listener, err := net.Listen("tcp", s.hookAddr)
	if err != nil {
		return nil, fmt.Errorf("listen for webhooks: %w", err)
	}
	var received atomic.Int64
	server := &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if received.Add(1)%oneFails == 0 {
				http.Error(w, "the stockroom's database is busy", http.StatusServiceUnavailable)
			}
		}),
	}
	go func() { _ = server.Serve(listener) }() // ends with hangUp
	// The address contains a port that differs from run to run, so the key does, too.
	address := "http://" + s.hookAddr + "/stockroom"
	err = s.send(ctx, http.MethodPost, "/v1/webhook_endpoints", "sample-"+address, url.Values{
		"url": {address}, "description": {"The stockroom, on the first day"}, "metadata[sample]": {"yes"},
		"enabled_events[]": {"payment_intent.succeeded", "payment_intent.payment_failed", "charge.refunded",
			"charge.dispute.created"}}, &sampled{})
	if err != nil {
		_ = server.Close()
		return nil, err
	}
	return func() { _ = server.Close() }, nil
}

// lastDeliveries is how long the worker gets for the last events. Those that failed are
// repeated much later, and are canceled with the endpoint.
const lastDeliveries = time.Second

// unsubscribe deletes the endpoint, and that of an interrupted run.
func (s *sampler) unsubscribe(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(lastDeliveries):
	}
	var found struct {
		Data []struct {
			ID       string
			Metadata map[string]string
		}
	}
	if err := s.send(ctx, http.MethodGet, "/v1/webhook_endpoints?limit=100", "", nil, &found); err != nil {
		return err
	}
	for _, e := range found.Data {
		if e.Metadata["sample"] == "" {
			continue
		}
		err := s.send(ctx, http.MethodDelete, "/v1/webhook_endpoints/"+e.ID, "sample-without-"+e.ID, nil, &sampled{})
		if err != nil {
			return err
		}
	}
	return nil
}
