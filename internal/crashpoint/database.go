package crashpoint

import (
	"bytes"
	"encoding/binary"
	"net"
	"strings"
	"sync/atomic"
)

// databaseConn is a connection to Postgres. Its packets are taken apart, so that
// the process can die between two messages of one: the server then executes the
// first ones and never sees the sync, or the COMMIT, behind them.
type databaseConn struct {
	net.Conn
	points     *Points
	statements map[string]string // SQL by the name it was prepared under
	bound      string            // SQL of the last bind
	asked      atomic.Bool       // an answer is due
}

// Write passes a crash point for each statement in the packet. One packet can contain a whole transaction.
func (c *databaseConn) Write(packet []byte) (written int, err error) {
	last := ""
	var sent []string
	for _, message := range split(packet) {
		what := c.describe(message)
		if what != "" {
			c.asked.Store(true)
			c.points.pass("database: before " + what)
			last = what
			if statement, is := executed(what); is {
				sent = append(sent, statement)
			}
		}
		n, err := c.Conn.Write(message)
		written += n
		if err != nil {
			return written, err
		}
	}
	if last != "" {
		c.points.pass("database: after "+last, sent...)
	}
	return written, nil
}

// executed is the statement that a message runs, if it runs one.
func executed(what string) (statement string, is bool) {
	if statement, is = strings.CutPrefix(what, "execute "); is {
		return statement, true
	}
	return strings.CutPrefix(what, "query ")
}

// Read is a boundary once for each answer, as the acquirer's is.
func (c *databaseConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.asked.Swap(false) {
		c.points.pass("database: answer read")
	}
	return n, err
}

// header is a message's type and the length of what follows the type.
const header = 1 + 4

// split cuts a packet into messages. Anything else, such as the first packet of a
// session, stays whole.
func split(packet []byte) (messages [][]byte) {
	rest := packet
	for len(rest) >= header {
		size := 1 + int64(binary.BigEndian.Uint32(rest[1:header]))
		if size < header || size > int64(len(rest)) {
			break
		}
		messages, rest = append(messages, rest[:size]), rest[size:]
	}
	if len(rest) > 0 {
		return [][]byte{packet}
	}
	return messages
}

// describe names a message for people, or returns "" for one that does not belong to
// a request: the farewell, and the pool's question whether a connection that has
// been idle for a while still lives, which is asked or not depending on the time.
func (c *databaseConn) describe(message []byte) string {
	if len(message) < header || !c.points.armed() && message[0] != 'P' {
		return ""
	}
	text := message[header:]
	switch message[0] {
	case 'P':
		name, sql := cString(text)
		sql, _ = cString([]byte(sql))
		c.statements[name] = sql
		return "parse " + excerpt(sql)
	case 'B':
		_, name := cString(text)
		name, _ = cString([]byte(name))
		c.bound = c.statements[name]
		return "bind " + excerpt(c.bound)
	case 'E':
		return "execute " + excerpt(c.bound)
	case 'D':
		return "describe"
	case 'C':
		return "close"
	case 'S':
		return "sync"
	case 'H':
		return "flush"
	case 'Q':
		sql, _ := cString(text)
		if strings.HasPrefix(sql, "-- ping") {
			return ""
		}
		return "query " + excerpt(sql)
	}
	return ""
}

// cString reads up to a zero byte, and returns the rest.
func cString(text []byte) (string, string) {
	before, after, _ := bytes.Cut(text, []byte{0})
	return string(before), string(after)
}

// ExcerptLength is as much of a statement as tells it from the others.
const ExcerptLength = 60

func excerpt(sql string) string {
	words := strings.Join(strings.Fields(sql), " ")
	return words[:min(len(words), ExcerptLength)]
}
