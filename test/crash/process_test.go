//go:build unix

package crash_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// timeout is how long a test waits for what must happen. Nothing takes a fiftieth
	// of it on an idle machine.
	timeout = 5 * time.Minute

	// requestTimeout is how long a client waits for one response.
	requestTimeout = time.Minute
)

// process is a running ratchet.
type process struct {
	t    testing.TB
	name string
	addr string // where it answers; "" for a worker
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has ended

	outside *pgxpool.Pool // of an API: the acquirer's database

	mu  sync.Mutex
	log []string // what it said, the last lines
}

// ready is in the line with which a process says that it works, and where.
var ready = regexp.MustCompile(`"msg":"working"|"addr(?:ess)?":"(127\.0\.0\.1:[1-9]\d*)"`)

// start runs the program and returns when it is ready. It is killed when the
// test ends, if it still lives then.
func start(t testing.TB, env []string, args ...string) *process {
	t.Helper()
	return startProgram(t, os.Getenv(binaryVar), env, args...)
}

func startProgram(t testing.TB, program string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: args[0], cmd: exec.Command(program, args...), gone: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.end)
	isReady := make(chan string, 1)
	go p.listen(stderr, isReady)
	select {
	case p.addr = <-isReady:
	case <-p.gone:
		t.Fatalf("%s ended before it was ready", p.name)
	case <-time.After(timeout):
		t.Fatalf("%s is not ready", p.name)
	}
	return p
}

// listen keeps what the process says and notices its end.
func (p *process) listen(stderr io.Reader, isReady chan<- string) {
	const keep = 20
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		line := lines.Text()
		p.mu.Lock()
		p.log = append(p.log[max(0, len(p.log)-keep):], line)
		p.mu.Unlock()
		if found := ready.FindStringSubmatch(line); found != nil {
			select {
			case isReady <- found[1]:
			default: // it was ready before
			}
		}
	}
	_ = p.cmd.Wait() // how it ended is in ProcessState
	close(p.gone)
}

// said reports whether a line with text is among the last ones.
func (p *process) said(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Contains(strings.Join(p.log, "\n"), text)
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("signal %s: %v", p.name, err)
	}
}

// leave asks the process to end and waits until it has.
func (p *process) leave() {
	p.t.Helper()
	p.signal(os.Interrupt)
	p.wait()
}

func (p *process) wait() {
	p.t.Helper()
	select {
	case <-p.gone:
	case <-time.After(timeout):
		p.t.Fatalf("%s (pid %d) does not end", p.name, p.cmd.Process.Pid)
	}
}

// killed waits for the process's death and says whether it was killed.
func (p *process) killed() bool {
	p.t.Helper()
	p.wait()
	status, is := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return is && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// stopped reports whether the process has been halted by SIGSTOP.
func (p *process) stopped() bool {
	return strings.HasPrefix(state(p.cmd.Process.Pid), "T")
}

// state is what ps says of a process, "" if there is none.
func state(pid int) string {
	out, _ := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output() // it fails if there is none
	return strings.TrimSpace(string(out))
}

// end is called when the test is over.
func (p *process) end() {
	_ = p.cmd.Process.Kill() // it may be dead already
	<-p.gone
	if p.t.Failed() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.t.Logf("the last words of %s (pid %d):\n%s", p.name, p.cmd.Process.Pid, strings.Join(p.log, "\n"))
	}
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never happened that %s", what)
		}
	}
}

// dies reports whether a process that has answered ends all the same.
func (p *process) dies() bool {
	select {
	case <-p.gone:
		return true
	case <-time.After(timeout):
		return false
	}
}
