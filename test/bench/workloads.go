package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// client speaks HTTP over one connection with as little ado as possible: the
// generator shares the machine, and what it burns the server does not get.
type client struct {
	conn net.Conn
	in   *bufio.Reader
}

func dial(addr string) (*client, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn, bufio.NewReaderSize(conn, 16<<10)}, nil
}

// addr is that of each process that serves the API in turn.
func (b *bench) addr() string { return b.Addrs[int(b.dialed.Add(1))%len(b.Addrs)] }

// post returns the status, and the beginning of the answer's body.
func (c *client) post(path, apiKey, key, form string) (status int, body []byte, err error) {
	request := "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + apiKey +
		"\r\nIdempotency-Key: " + key +
		"\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: " + strconv.Itoa(len(form)) +
		"\r\n\r\n" + form
	if _, err := io.WriteString(c.conn, request); err != nil {
		return 0, nil, err
	}
	line, err := c.in.ReadString('\n')
	if err != nil {
		return 0, nil, err
	}
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return 0, nil, fmt.Errorf("no status in %q", line)
	}
	if status, err = strconv.Atoi(fields[1]); err != nil {
		return 0, nil, err
	}
	length := 0
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, nil, err
		}
		header := string(line)
		if header == "\r\n" {
			break
		}
		if value, is := strings.CutPrefix(header, "Content-Length: "); is {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return 0, nil, err
			}
		}
	}
	body, err = c.in.Peek(min(length, beginning))
	if err != nil {
		return 0, nil, err
	}
	body = append([]byte(nil), body...)
	_, err = c.in.Discard(length)
	return status, body, err
}

// beginning is how much of an answer is looked at: it contains the object's ID.
const beginning = 64

var sequence atomic.Int64

func fresh(name string) string { return name + "-" + strconv.FormatInt(sequence.Add(1), 10) }

// posting is a client that posts one form after the other, and wants a 200 each
// time. next makes the key and the form of each.
func (b *bench) posting(path, apiKey string, next func() (key, form string, err error),
	answered func(body []byte)) (job, func(), error) {
	c, err := dial(b.addr())
	if err != nil {
		return nil, nil, err
	}
	post := func(context.Context) error {
		key, form, err := next()
		if err != nil {
			return err
		}
		status, body, err := c.post(path, apiKey, key, form)
		if err == nil {
			err = wanted(path, status, body)
		}
		if err == nil && answered != nil {
			answered(body)
		}
		return err
	}
	return post, func() { _ = c.conn.Close() }, nil
}

// wanted is nil where an answer is as it should be.
func wanted(path string, status int, body []byte) error {
	switch status {
	case http.StatusOK:
		return nil
	case http.StatusServiceUnavailable:
		return errShed
	default:
		return fmt.Errorf("POST %s answered %d: %s", path, status, body)
	}
}

func always(name, form string) func() (string, string, error) {
	return func() (string, string, error) { return fresh(name), form, nil }
}

const (
	chargeForm = "amount=2000&currency=usd&source=tok_visa&description=A+mug&metadata[order]=6735"
	intentForm = "amount=2000&currency=usd&payment_method_types[]=card&confirm=true&payment_method=pm_card_visa" +
		"&description=A+mug&metadata[order]=6735"
	customerForm = "name=Jenny+Rosen&email=jenny@example.com&metadata[order]=6735"
)

func (b *bench) merchant(n int) string { return b.keys[n%len(b.keys)] }

// charges spreads charges over merchants, by their API keys.
func (b *bench) charges(keys []string) func(context.Context, int) (job, func(), error) {
	return func(_ context.Context, n int) (job, func(), error) {
		return b.posting("/v1/charges", keys[n%len(keys)], always("charge", chargeForm), nil)
	}
}

// intents makes payment intents and pays them in the same request.
func (b *bench) intents(_ context.Context, n int) (job, func(), error) {
	return b.posting("/v1/payment_intents", b.merchant(n), always("intent", intentForm), nil)
}

func (b *bench) customers(_ context.Context, n int) (job, func(), error) {
	return b.posting("/v1/customers", b.merchant(n), always("customer", customerForm), nil)
}

// replays asks for one finished charge again and again.
func (b *bench) replays(_ context.Context, n int) (job, func(), error) {
	key := "replayed-" + strconv.Itoa(n)
	return b.posting("/v1/charges", b.merchant(n), func() (string, string, error) { return key, chargeForm, nil }, nil)
}

// charge is one that can be refunded.
type charge struct{ id, apiKey string }

// refundsAtMost bounds how many charges are made for a round of refunds.
const refundsAtMost = 50_000

var chargeID = regexp.MustCompile(`"id": ?"(ch_[0-9A-Za-z]+)"`)

// makeCharges makes what a round of refunds will refund, and lets it settle.
func (b *bench) makeCharges(ctx context.Context) error {
	var failed error
	var mu sync.Mutex
	var working sync.WaitGroup
	end := time.Now().Add(refundsPreparation)
	for n := range refundsPreparers {
		do, stop, err := b.posting("/v1/charges", b.merchant(n), always("to-refund", chargeForm), func(body []byte) {
			if id := chargeID.FindSubmatch(body); id != nil {
				select {
				case b.made <- charge{string(id[1]), b.merchant(n)}:
				default: // there are enough
				}
			}
		})
		if err != nil {
			return err
		}
		working.Go(func() {
			defer stop()
			for time.Now().Before(end) {
				if err := do(ctx); err != nil && !errors.Is(err, errShed) {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	working.Wait()
	return errors.Join(failed, b.drain(ctx))
}

// refundsPreparation is how long charges are made for a round of refunds. A round
// that has refunded all of them ends early.
const refundsPreparation = 5 * time.Second

// refundsPreparers is how many clients make them.
const refundsPreparers = 16

// refunds gives charges back, all of each.
func (b *bench) refunds(_ context.Context, _ int) (job, func(), error) {
	c, err := dial(b.addr())
	if err != nil {
		return nil, nil, err
	}
	refund := func(context.Context) error {
		var of charge
		select {
		case of = <-b.made:
		default:
			return errNoMore
		}
		status, body, err := c.post("/v1/refunds", of.apiKey, fresh("refund"), "charge="+of.id)
		if err == nil {
			err = wanted("/v1/refunds", status, body)
		}
		return err
	}
	return refund, func() { _ = c.conn.Close() }, nil
}
