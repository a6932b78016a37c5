package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/process"
)

// TestSlowClients keeps the server waiting, which is how connections are used up
// on purpose. The server's timeout is short here, but long enough
// for what is written at once; the test's is a minute.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	s := newEnv(t, func(c *process.Config) { c.Limits.HeaderTime, c.Limits.BodyTime = 2*time.Second, 3*time.Second })
	dial := s.serve(t)
	key := "Authorization: Bearer " + s.keys["toboggans"] + "\r\n"

	t.Run("a head that does not end is hung up on", func(t *testing.T) {
		t.Parallel()
		conn := dial(t)
		say(t, conn, "GET /v1/charges HTTP/1.1\r\nHost: 127.0.0.1\r\n"+key)
		if rest, err := io.ReadAll(conn); err != nil || strings.Contains(string(rest), "200 OK") {
			t.Errorf("heard %q, %v", rest, err)
		}
	})

	t.Run("a body that stops is refused, and nothing is done", func(t *testing.T) {
		t.Parallel()
		conn := dial(t)
		say(t, conn, "POST /v1/customers HTTP/1.1\r\nHost: 127.0.0.1\r\n"+key+
			"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nname=x")
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if a := readAnswer(t, response); a.status != http.StatusBadRequest || a.fault.Type != invalid {
			t.Errorf("answered %d %s", a.status, a.body)
		}
		if n := s.requests(t); n != 0 {
			t.Errorf("%d requests were stored", n)
		}
	})
}

// TestIdleClients keeps a connection after its answer, and asks nothing more.
func TestIdleClients(t *testing.T) {
	t.Parallel()
	s := newEnv(t, func(c *process.Config) { c.Limits.IdleTime = 100 * time.Millisecond })
	conn := s.serve(t)(t)
	say(t, conn, "GET /v1/charges HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "+s.keys["toboggans"]+"\r\n\r\n")
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := readAnswer(t, response); a.status != http.StatusOK {
		t.Errorf("answered %d %s", a.status, a.body)
	}
	if _, err := reader.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("it was not hung up on: %v", err)
	}
}

// TestTwoLengths sends requests whose end two parties can see in different places,
// and a second request behind each of them on the same connection.
func TestTwoLengths(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	dial := s.serve(t)
	head := " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + s.keys["toboggans"] + "\r\n"
	post := "POST /v1/customers" + head + "Content-Type: application/x-www-form-urlencoded\r\n"
	for name, c := range map[string]struct {
		first   string
		answers int
	}{
		"a length and chunks": {post +
			"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nname=x\r\n0\r\n\r\n", 1},
		"chunks and a length": {post +
			"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n6\r\nname=x\r\n0\r\n\r\n", 1},
		"nothing but a length": {post + "Content-Length: 6\r\n\r\nname=x", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t)
			say(t, conn, c.first+"GET /v1/account"+head+"Connection: close\r\n\r\n")
			received, err := io.ReadAll(conn)
			if err != nil && len(received) == 0 { // closed with our second request unread, which resets the connection
				t.Fatal(err)
			}
			if got := strings.Count(string(received), "HTTP/1.1 200 OK"); got != c.answers {
				t.Errorf("%d answers, want %d:\n%s", got, c.answers, received)
			}
		})
	}
}

// TestOnlySoManyConnections lets a slow client have the only connection there is.
func TestOnlySoManyConnections(t *testing.T) {
	t.Parallel()
	s := newEnv(t, func(c *process.Config) { c.Limits.Connections, c.Limits.HeaderTime = 1, 2*time.Second })
	dial := s.serve(t)
	say(t, dial(t), "GET /v1/charges HTTP/1.1\r\nHost: 127.0.0.1\r\n") // and no more
	conn := dial(t)
	say(t, conn,
		"GET /v1/charges HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: Bearer "+
			s.keys["toboggans"]+"\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := readAnswer(t, response); a.status != http.StatusOK {
		t.Errorf("who came second was answered %d %s", a.status, a.body)
	}
}

// TestClientsThatDoNotRead lets a client have the only connection there is, ask for
// more than fits into what lies between it and the server, and not take it.
func TestClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	s := newEnv(t, func(c *process.Config) { c.Limits.Connections, c.Limits.WriteTime = 1, 2*time.Second })
	var notes strings.Builder
	for n := range 50 {
		fmt.Fprintf(&notes, "&metadata[note%d]=%s", n, strings.Repeat("x", 500))
	}
	for range 10 {
		s.ask(t, sent{target: "/v1/customers", body: "name=Jenny" + notes.String()})
	}
	const list = "/v1/customers?limit=100"
	whole := len(s.ask(t, sent{method: http.MethodGet, target: list}).body)
	dial := s.serve(t)
	ask := func(t *testing.T, path string) net.Conn {
		conn := dial(t)
		say(t, conn,
			"GET "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: Bearer "+
				s.keys["toboggans"]+"\r\n\r\n")
		return conn
	}
	for name, take := range map[string]func(net.Conn){
		"a client that reads nothing":       func(net.Conn) {},
		"a client that reads byte for byte": func(conn net.Conn) { go sip(conn) },
	} {
		t.Run(name, func(t *testing.T) {
			slow := ask(t, list)
			take(slow)
			response, err := http.ReadResponse(bufio.NewReader(ask(t, "/v1/account")), nil)
			if err != nil {
				t.Fatal(err)
			}
			if a := readAnswer(t, response); a.status != http.StatusOK {
				t.Errorf("who came second was answered %d %s", a.status, a.body)
			}
			if rest, _ := io.ReadAll(slow); len(rest) >= whole { // it may end in an error
				t.Errorf("all %d bytes of its answer were on their way: it held nobody up", whole)
			}
		})
	}
}

// sip takes a little of what there is, again and again, until the test is over.
func sip(conn net.Conn) {
	for one := make([]byte, 1); ; time.Sleep(100 * time.Millisecond) {
		if _, err := conn.Read(one); err != nil {
			return
		}
	}
}

// tight is a listener whose connections keep little of what their clients have not
// taken yet. The kernel would keep megabytes.
type tight struct{ net.Listener }

func (l tight) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, is := conn.(*net.TCPConn); is && err == nil {
		err = tcp.SetWriteBuffer(4 << 10)
	}
	return conn, err
}

// serve answers as the program does, with its bounds, and returns a way to call it.
func (s *env) serve(t *testing.T) func(*testing.T) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.process.Serve(ctx, tight{l}, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return func(t *testing.T) net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		return conn
	}
}

func say(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}
