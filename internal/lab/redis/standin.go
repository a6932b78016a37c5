package redis

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// StandIn answers like Redis to PING, GET, SET with EX and NX, and SETEX. Keys
// expire by the clock. It keeps nothing on disk: its end is the end of its data.
type StandIn struct {
	mu   sync.Mutex
	keys map[string]entry
}

type entry struct {
	value   string
	expires time.Time // zero: never
}

// NewStandIn returns an empty one.
func NewStandIn() *StandIn { return &StandIn{keys: map[string]entry{}} }

// Serve answers connections until the listener is closed.
func (s *StandIn) Serve(l net.Listener) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go s.talk(conn)
	}
}

func (s *StandIn) talk(conn net.Conn) {
	defer conn.Close()
	for in := bufio.NewReader(conn); ; {
		args, err := readCommand(in)
		if err != nil {
			return // it hung up, or does not speak the protocol
		}
		if _, err := io.WriteString(conn, s.answer(args)); err != nil {
			return
		}
	}
}

const (
	maxArgs  = 16
	maxBytes = 1 << 20
)

func readCommand(in *bufio.Reader) ([]string, error) {
	n, err := readSize(in, '*', maxArgs)
	if err != nil || n == 0 {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	args := make([]string, n)
	for i := range args {
		size, err := readSize(in, '$', maxBytes)
		if err != nil {
			return nil, err
		}
		arg := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(in, arg); err != nil {
			return nil, err
		}
		args[i] = string(arg[:size])
	}
	return args, nil
}

func readSize(in *bufio.Reader, kind byte, most int) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("%q does not begin with %c", line, kind)
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%q is not a size", line)
	}
	return n, nil
}

// Replies of the protocol.
const (
	ok   = "+OK\r\n"
	null = "$-1\r\n"
)

func (s *StandIn) answer(args []string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch command := strings.ToUpper(args[0]); {
	case command == "PING":
		return "+PONG\r\n"
	case command == "GET" && len(args) == 2:
		value, found := s.get(args[1])
		if !found {
			return null
		}
		return fmt.Sprintf("$%d\r\n%s\r\n", len(value), value)
	case command == "SETEX" && len(args) == 4:
		return s.set(args[1], args[3], []string{"EX", args[2]})
	case command == "SET" && len(args) >= 3:
		return s.set(args[1], args[2], args[3:])
	}
	return "-ERR the lab's stand-in for Redis does not know this command\r\n"
}

func (s *StandIn) get(key string) (value string, found bool) {
	e, found := s.keys[key]
	if found && !e.expires.IsZero() && !time.Now().Before(e.expires) {
		delete(s.keys, key)
		return "", false
	}
	return e.value, found
}

func (s *StandIn) set(key, value string, options []string) string {
	next := entry{value: value}
	for len(options) > 0 {
		option := strings.ToUpper(options[0])
		options = options[1:]
		switch {
		case option == "NX":
			if _, found := s.get(key); found {
				return null
			}
		case option == "EX" && len(options) > 0:
			seconds, err := strconv.Atoi(options[0])
			if err != nil || seconds <= 0 {
				return "-ERR invalid expire time\r\n"
			}
			next.expires = time.Now().Add(time.Duration(seconds) * time.Second)
			options = options[1:]
		default:
			return "-ERR syntax error\r\n"
		}
	}
	s.keys[key] = next
	return ok
}
