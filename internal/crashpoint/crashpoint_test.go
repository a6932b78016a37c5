package crashpoint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/ratchet-pay/ratchet/internal/crashpoint"
)

func TestWithoutTheVariableNothingIsThere(t *testing.T) {
	t.Setenv(crashpoint.Enable, "")
	p := crashpoint.FromEnvironment()
	if p != nil || p.DialDatabase() != nil || p.DialAcquirer() != nil || p.Listener(nil) != nil {
		t.Error("connections are watched")
	}
	// If it were obeyed, this test would not live to see the answer.
	server := httptest.NewServer(p.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	defer server.Close()
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	request.Header.Set(crashpoint.AtHeader, "1")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("answered %d", response.StatusCode)
	}
}

// If it were obeyed, this test would not live to see the answer either.
func TestCrashpointOfAnotherProcess(t *testing.T) {
	t.Setenv(crashpoint.Enable, "1")
	p := crashpoint.FromEnvironment()
	server := httptest.NewUnstartedServer(p.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	server.Listener = p.Listener(server.Listener)
	server.Start()
	defer server.Close()
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	request.Header.Set(crashpoint.AtHeader, "1")
	request.Header.Set(crashpoint.WhoHeader, strconv.Itoa(os.Getppid()))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("answered %d", response.StatusCode)
	}
}

// It runs twice: as a test, and as the process that the test wants to see dead.
func TestTheNamedBoundaryIsTheLast(t *testing.T) {
	const child = "RATCHET_TEST_NAMED_BOUNDARY"
	if os.Getenv(child) == "" {
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTheNamedBoundaryIsTheLast$")
		command.Env = append(os.Environ(), child+"=1", crashpoint.Enable+"=1")
		out, err := command.CombinedOutput()
		if command.ProcessState == nil || command.ProcessState.Exited() || string(out) != "passed\n" {
			t.Errorf("%v, and it said %q: want it killed at the second request", err, out)
		}
		return
	}
	p := crashpoint.FromEnvironment()
	server := httptest.NewUnstartedServer(p.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	server.Listener = p.Listener(server.Listener)
	server.Start()
	get(t, server.URL, "acquirer: before")
	fmt.Println("passed") // nothing is said to an acquirer here
	get(t, server.URL, "client: before")
	fmt.Println("answered")
}

// It runs twice, as the test above does.
func TestNamesInARowArePassedOneAfterTheOther(t *testing.T) {
	const child, trace = "RATCHET_TEST_NAMES_IN_A_ROW", "RATCHET_TEST_TRACE_OF_NAMES"
	if os.Getenv(child) == "" {
		file := filepath.Join(t.TempDir(), "trace")
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNamesInARowArePassedOneAfterTheOther$")
		command.Env = append(os.Environ(), child+"=1", crashpoint.Enable+"=1", crashpoint.Trace+"="+file)
		out, err := command.CombinedOutput()
		if command.ProcessState == nil || command.ProcessState.Exited() || string(out) != "packet\nkey\n" {
			t.Errorf("%v, and it said %q: want it killed when the packet behind the key is sent", err, out)
		}
		wantTrace(t, file)
		return
	}
	p := crashpoint.FromEnvironment()
	database := dial(t, p.DialDatabase(), func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	keys := dial(t, p.DialRedis(), func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	server := httptest.NewUnstartedServer(p.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		_, _ = database.Write(packet(t))
		fmt.Println("packet")
		_, _ = io.WriteString(keys, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n")
		fmt.Println("key")
		_, _ = database.Write(packet(t))
		fmt.Println("answer")
	})))
	server.Listener = p.Listener(server.Listener)
	server.Start()
	get(t, server.URL, "redis: after"+crashpoint.Then+"database: sent SELECT a")
}

// wantTrace wants the boundaries up to the fatal one in the file.
func wantTrace(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var passes []string
	for line := range strings.Lines(string(text)) {
		var passed crashpoint.Passed
		if err := json.Unmarshal([]byte(line), &passed); err != nil || passed.At.IsZero() || passed.PID == 0 {
			t.Fatalf("%s: %v", line, err)
		}
		if len(passed.Sent) > 0 {
			passes = append(passes, passed.Boundary+": "+strings.Join(passed.Sent, "; "))
		}
	}
	want := []string{"database: after sync: SELECT a, b FROM c", "redis: before writing: GET k",
		"database: after sync: SELECT a, b FROM c"}
	if !slices.Equal(passes, want) {
		t.Errorf("the trace tells\n%s\nwant\n%s", strings.Join(passes, "\n"), strings.Join(want, "\n"))
	}
}

func TestBoundaries(t *testing.T) {
	record := filepath.Join(t.TempDir(), "boundaries")
	t.Setenv(crashpoint.Enable, "1")
	t.Setenv(crashpoint.Record, record)
	p := crashpoint.FromEnvironment()

	// A request sends the database one packet of several messages.
	database := dial(t, p.DialDatabase(), func(conn net.Conn) {
		_, _ = io.ReadAtLeast(conn, make([]byte, 1024), len(packet(t)))
		_, _ = conn.Write([]byte("an answer"))
	})
	server := httptest.NewUnstartedServer(p.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = database.Write(packet(t))
		_, _ = database.Read(make([]byte, 3))
		_, _ = database.Read(make([]byte, 3)) // the rest of the same answer
	})))
	server.Listener = p.Listener(server.Listener)
	server.Start()
	defer server.Close()

	for _, at := range []string{"nobody", "-1", "client: before" + crashpoint.Then + "nobody"} {
		if status := get(t, server.URL, at); status != http.StatusBadRequest {
			t.Errorf("%s: %q is taken for a boundary: %d", crashpoint.AtHeader, at, status)
		}
	}
	if status := get(t, server.URL, "0"); status != http.StatusOK {
		t.Fatalf("answered %d", status)
	}
	server.Close() // waits until the connection is closed, and the record with it

	got, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"database: before parse SELECT a, b FROM c",
		"database: before bind SELECT a, b FROM c",
		"database: before execute SELECT a, b FROM c",
		"database: before sync",
		"database: after sync",
		"database: answer read",
		"client: before writing the response",
		"client: after writing the response", "",
	}, "\n")
	if string(got) != want {
		t.Errorf("it passed\n%s\nwant\n%s", got, want)
	}
}

// packet is what a driver sends for one statement, and a farewell, which belongs
// to no request.
func packet(t *testing.T) (out []byte) {
	t.Helper()
	for _, message := range []pgproto3.FrontendMessage{
		&pgproto3.Parse{Name: "s1", Query: "SELECT a,\n\t b FROM c"}, &pgproto3.Bind{PreparedStatement: "s1"},
		&pgproto3.Execute{}, &pgproto3.Sync{}, &pgproto3.Terminate{},
	} {
		var err error
		if out, err = message.Encode(out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// dial connects to a server that does what serve does.
func dial(t *testing.T, with crashpoint.DialFunc, serve func(net.Conn)) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		conn, err := l.Accept()
		if err == nil {
			serve(conn)
			conn.Close()
		}
	}()
	conn, err := with(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func get(t *testing.T, url, at string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(crashpoint.AtHeader, at)
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}
