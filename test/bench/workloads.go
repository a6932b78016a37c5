package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
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

func (c *client) post(path, apiKey, key, form string) (status int, err error) {
	request := "POST " + path + " HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer " + apiKey + "\r\nIdempotency-Key: " + key +
		"\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: " + strconv.Itoa(len(form)) + "\r\n\r\n" + form
	if _, err := io.WriteString(c.conn, request); err != nil {
		return 0, err
	}
	line, err := c.in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return 0, fmt.Errorf("no status in %q", line)
	}
	if status, err = strconv.Atoi(fields[1]); err != nil {
		return 0, err
	}
	length := 0
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		header := string(line)
		if header == "\r\n" {
			break
		}
		if value, is := strings.CutPrefix(header, "Content-Length: "); is {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return 0, err
			}
		}
	}
	_, err = c.in.Discard(length)
	return status, err
}

var sequence atomic.Int64

func fresh(name string) string { return name + "-" + strconv.FormatInt(sequence.Add(1), 10) }

// posts makes workers that post forms and want a 200 each time.
func (b *bench) posts(path string, apiKey func(n int) string, key func(n int) string, form string) func(n int) worker {
	return func(n int) worker {
		c, err := dial(b.addr)
		return func(context.Context) error {
			if err != nil {
				return err
			}
			status, err := c.post(path, apiKey(n), key(n), form)
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("POST %s answered %d", path, status)
			}
			return err
		}
	}
}

const chargeForm = "amount=2000&currency=usd&source=tok_visa&description=A+mug&metadata[order]=6735"

// charges spreads charges over merchants, by their API keys.
func (b *bench) charges(keys []string) func(n int) worker {
	return b.posts("/v1/charges", func(n int) string { return keys[n%len(keys)] }, func(int) string { return fresh("charge") }, chargeForm)
}

// intents makes payment intents and pays them in the same request.
func (b *bench) intents(n int) worker {
	return b.posts("/v1/payment_intents", func(n int) string { return b.keys[n%len(b.keys)] }, func(int) string { return fresh("intent") },
		"amount=2000&currency=usd&payment_method_types[]=card&confirm=true&payment_method=pm_card_visa&description=A+mug&metadata[order]=6735")(n)
}

func (b *bench) customers(n int) worker {
	return b.posts("/v1/customers", func(n int) string { return b.keys[n%len(b.keys)] }, func(int) string { return fresh("customer") },
		"name=Jenny+Rosen&email=jenny@example.com&metadata[order]=6735")(n)
}

// replays asks for one finished charge again and again.
func (b *bench) replays(n int) worker {
	return b.posts("/v1/charges", func(int) string { return b.keys[0] }, func(n int) string { return "replayed-" + strconv.Itoa(n) }, chargeForm)(n)
}
