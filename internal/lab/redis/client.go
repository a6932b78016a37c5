// Package redis is as much of Redis as the lab's middleware needs: a client for
// four commands, and a stand-in for machines that have no Redis.
package redis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// DialFunc opens a connection.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Client sends one command at a time over one connection. After an error it
// connects again.
type Client struct {
	addr string
	dial DialFunc

	mu   sync.Mutex
	conn net.Conn
	in   *bufio.Reader
}

// timeout bounds one command.
const timeout = 2 * time.Second

// NewClient returns a client that connects when it is first used. A nil dial
// means TCP.
func NewClient(addr string, dial DialFunc) *Client {
	if dial == nil {
		dial = (&net.Dialer{Timeout: timeout}).DialContext
	}
	return &Client{addr: addr, dial: dial}
}

// Ping returns nil if the server answers.
func (c *Client) Ping(ctx context.Context) error {
	_, _, err := c.do(ctx, "PING")
	return err
}

// Get reads a key, and whether there is one.
func (c *Client) Get(ctx context.Context, key string) (value string, found bool, err error) {
	return c.do(ctx, "GET", key)
}

// SetNX writes a key that does not exist yet, for so many seconds. It reports
// whether it did.
func (c *Client) SetNX(ctx context.Context, key, value string, seconds int) (set bool, err error) {
	_, set, err = c.do(ctx, "SET", key, value, "EX", strconv.Itoa(seconds), "NX")
	return set, err
}

// SetEX writes a key for so many seconds, whether or not it exists.
func (c *Client) SetEX(ctx context.Context, key, value string, seconds int) error {
	_, _, err := c.do(ctx, "SETEX", key, strconv.Itoa(seconds), value)
	return err
}

// do sends a command. A null reply (no such key, NX refused) has found false.
func (c *Client) do(ctx context.Context, args ...string) (reply string, found bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.connect(ctx); err != nil {
		return "", false, fmt.Errorf("connect to Redis: %w", err)
	}
	_ = c.conn.SetDeadline(time.Now().Add(timeout)) // the read fails if this does
	reply, found, err = c.exchange(args)
	var refused serverError
	if err != nil && !errors.As(err, &refused) {
		_ = c.conn.Close()
		c.conn = nil
	}
	if err != nil {
		return "", false, fmt.Errorf("redis %s: %w", args[0], err)
	}
	return reply, found, nil
}

func (c *Client) connect(ctx context.Context) (err error) {
	if c.conn != nil {
		return nil
	}
	conn, err := c.dial(ctx, "tcp", c.addr)
	if err != nil {
		return err
	}
	c.conn, c.in = conn, bufio.NewReader(conn)
	return nil
}

func (c *Client) exchange(args []string) (reply string, found bool, err error) {
	var command strings.Builder
	fmt.Fprintf(&command, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&command, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := io.WriteString(c.conn, command.String()); err != nil {
		return "", false, err
	}
	return readReply(c.in)
}

// serverError is an error that the server has answered with.
type serverError string

func (e serverError) Error() string { return string(e) }

func readReply(in *bufio.Reader) (reply string, found bool, err error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return "", false, err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", false, io.ErrUnexpectedEOF
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+', ':':
		return rest, true, nil
	case '-':
		return "", false, serverError(rest)
	case '$':
		size, err := strconv.Atoi(rest)
		if err != nil || size < 0 { // -1 is null
			return "", false, err
		}
		value := make([]byte, size+len("\r\n"))
		_, err = io.ReadFull(in, value)
		return string(value[:size]), true, err
	}
	return "", false, fmt.Errorf("unexpected reply %q", line)
}
