//go:build unix

package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// startTimeout is how long a process gets until it says that it works.
const startTimeout = 30 * time.Second

// process is a running program: a design, the acquirer, Redis.
type process struct {
	name string
	addr string // where it answers
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has ended

	mu   sync.Mutex
	said []string // its last lines
}

// ready is in the line with which ratchet and the lab's own processes say where
// they answer, or that they work.
var ready = regexp.MustCompile(`"addr(?:ess)?":"(127\.0\.0\.1:[1-9]\d*)"|"msg":"(?:working|consuming)"`)

// start runs a program and returns when it answers.
func start(ctx context.Context, name, program string, env []string, args ...string) (*process, error) {
	p := &process{name: name, cmd: exec.Command(program, args...), gone: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	apart(p.cmd)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	answers := make(chan string, 1)
	if err := p.launch(stderr, answers); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	select {
	case p.addr = <-answers:
		return p, nil
	case <-p.gone:
		return nil, fmt.Errorf("%s exited before it was ready:\n%s", name, p.lastWords())
	case <-time.After(startTimeout):
		err = fmt.Errorf("%s does not respond:\n%s", name, p.lastWords())
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.kill()
	return nil, err
}

// launch forks on a thread that lives as long as the process. The kernel ends the
// process when the thread that forked it ends (see apart).
func (p *process) launch(stderr io.Reader, answers chan<- string) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.listen(stderr, answers)
		_ = p.cmd.Wait() // how it ended is in ProcessState
		close(p.gone)
	}()
	return <-started
}

func (p *process) listen(stderr io.Reader, answers chan<- string) {
	const keep = 20
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		p.mu.Lock()
		p.said = append(p.said[max(0, len(p.said)-keep):], lines.Text())
		p.mu.Unlock()
		if found := ready.FindStringSubmatch(lines.Text()); found != nil {
			select {
			case answers <- found[1]:
			default: // it answers already
			}
		}
	}
}

func (p *process) lastWords() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.said, "\n")
}

// logged is when the process has logged a message with these words.
func (p *process) logged(words string) (at time.Time, has bool) {
	for line := range strings.SplitSeq(p.lastWords(), "\n") {
		var entry struct {
			Time time.Time `json:"time"`
			Msg  string    `json:"msg"`
		}
		if json.Unmarshal([]byte(line), &entry) == nil && strings.Contains(entry.Msg, words) {
			return entry.Time, true
		}
	}
	return at, false
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the process with SIGKILL and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be gone
	<-p.gone
}

// leaveTimeout is how long a process gets to finish what it has begun.
const leaveTimeout = 15 * time.Second

// leave asks the process to finish its requests and end, and waits for it.
func (p *process) leave() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.gone:
	case <-time.After(leaveTimeout):
		p.kill()
	}
}

// died waits until the process has been killed.
func (p *process) died(timeout time.Duration) error {
	select {
	case <-p.gone:
	case <-time.After(timeout):
		return fmt.Errorf("%s was not killed: it did not reach the boundary", p.name)
	}
	status, is := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !is || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		return fmt.Errorf("%s exited (%v):\n%s", p.name, p.cmd.ProcessState, p.lastWords())
	}
	return nil
}

var errNotStopped = errors.New("the process was not stopped: it did not reach the boundary")

// stopped waits until the process has been halted by SIGSTOP.
func (p *process) stopped(timeout time.Duration) error {
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if halted(p.pid()) {
			return nil
		}
	}
	return errNotStopped
}

func (p *process) proceed() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
