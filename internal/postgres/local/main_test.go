package local

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// What the parent tells a copy of this test binary that is to play the program
// that gets killed.
const (
	envState   = "LOCAL_TEST_STATE"
	envOutlive = "LOCAL_TEST_OUTLIVE"
)

func TestMain(m *testing.M) {
	if state := os.Getenv(envState); state != "" {
		playProgram(state)
	}
	os.Exit(m.Run())
}

// playProgram starts a server, says its process id, and waits to be killed.
func playProgram(state string) {
	server, err := Start(context.Background(), Options{
		StateDir: state,
		Sources:  []Source{Installed, Download},
		Outlive:  os.Getenv(envOutlive) != "",
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("pid", server.PID())
	time.Sleep(time.Hour)
}

// program is another process that has a server running.
type program struct {
	cmd       *exec.Cmd
	serverPID int
}

func startProgram(t *testing.T, state string, env ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), append(env, envState+"="+state)...)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	err = p.cmd.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	line, _ := bufio.NewReader(out).ReadString('\n')
	_, err = fmt.Sscanf(line, "pid %d", &p.serverPID)
	if err != nil {
		t.Fatalf("the program did not start its server: %s", line)
	}
	return p
}

func (p *program) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// tempState is t.TempDir for a server that may run as another user.
func tempState(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ratchet-local-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	err = os.Chmod(dir, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// start runs a server from binaries and stops it after the test. It returns what was logged, too.
func start(t *testing.T, o Options) (*Server, *strings.Builder) {
	t.Helper()
	said := &strings.Builder{}
	o.Log = func(format string, args ...any) { fmt.Fprintf(said, format+"\n", args...) }
	if o.Sources == nil {
		o.Sources = []Source{Installed, Download}
	}
	server, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	return server, said
}

func stop(t *testing.T, s *Server) {
	t.Helper()
	err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
}

// query runs one statement and returns its one value as text.
func query(t *testing.T, url, statement string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var value string
	err = conn.QueryRow(t.Context(), statement).Scan(&value)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func execute(t *testing.T, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
}

// mustSay fails unless err contains every one of the words.
func mustSay(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one that says %q", words)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not say %q:\n%v", word, err)
		}
	}
}
