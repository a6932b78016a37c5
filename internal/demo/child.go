package demo

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ratchet-pay/ratchet/internal/crashpoint"
)

const (
	// A part that exits sooner than this after its start was probably not killed by the
	// user. Restarting it without a pause would only fill the screen.
	atOnce = 2 * time.Second

	// The pause doubles with every exit at once, from zero to longestPause.
	firstPause, longestPause = 250 * time.Millisecond, 4 * time.Second

	// stopTimeout is longer than a request may take (package process would let one
	// take 30 seconds; too long for Ctrl-C).
	stopTimeout = 12 * time.Second
)

// child is a part of the demo: a process that the demo restarts whenever it exits.
type child struct {
	name    string
	program string
	environ []string
	log     string
	console *console

	pid     atomic.Int64
	process atomic.Pointer[os.Process]
	failed  chan error // the first exit, for the caller that waits for the part to answer
	cease   chan struct{}
	ended   chan struct{}
	once    sync.Once
}

// startChild runs "program name" until stop.
func startChild(out *console, name, program, log string, environ []string) (*child, error) {
	c := &child{
		name: name, program: program, log: log, console: out, environ: append(inherited(), environ...),
		failed: make(chan error, 1), cease: make(chan struct{}), ended: make(chan struct{}),
	}
	err := out.follow(name, log)
	if err != nil {
		return nil, err
	}
	p, err := c.launch()
	if err != nil {
		return nil, err
	}
	go c.keepAlive(p)
	return c, nil
}

// inherited is our environment without settings that would contradict the demo's. It
// keeps the user's settings for fault injection: the acquirer's faults, and whether a
// request may end the process that serves it.
func inherited() []string {
	onPurpose := []string{"RATCHET_ACQUIRER_FAULT", crashpoint.Enable, crashpoint.Record}
	return slices.DeleteFunc(os.Environ(), func(setting string) bool {
		name, _, _ := strings.Cut(setting, "=")
		ours := name == "DATABASE_URL" || strings.HasPrefix(name, "RATCHET_")
		return ours && !slices.Contains(onPurpose, name)
	})
}

// running is one life of a child.
type running struct {
	cmd    *exec.Cmd
	said   int64 // where its output begins in the log
	began  time.Time
	exited chan struct{}
}

// launch forks on a thread that lives as long as the process: the kernel sends the
// signal that ends it with us (endWithParent) when the forking thread ends, and Go ends
// threads at any time. Output goes to a file, because a pipe would fill up and block the
// part while we are stopped, by Ctrl-Z for example.
func (c *child) launch() (*running, error) {
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", c.name, err)
	}
	defer log.Close()
	end, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", c.name, err)
	}
	p := &running{cmd: exec.Command(c.program, c.name), said: end, began: time.Now(), exited: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = c.environ, log, log
	apart(p.cmd)
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait()
		}
		close(p.exited)
	}()
	err = <-started
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	c.pid.Store(int64(p.cmd.Process.Pid))
	c.process.Store(p.cmd.Process)
	return p, nil
}

// keepAlive restarts the part whenever it exits, until stop.
func (c *child) keepAlive(p *running) {
	defer close(c.ended)
	for exits := 0; ; {
		select {
		case <-c.cease:
			c.end(p)
			return
		case <-p.exited:
		}
		if time.Since(p.began) >= atOnce {
			exits = 0
		}
		pause := pauseAfter(exits)
		exits++
		c.reportExit(p, pause)
		select {
		case <-c.cease:
			return
		case <-time.After(pause):
		}
		next, err := c.launch()
		if err != nil {
			// Out of processes or memory, perhaps for a moment only. p has still exited, so
			// the loop comes back here after a pause.
			c.console.sayf("cannot start %s: %v", c.name, err)
			continue
		}
		p = next
		c.console.sayf("%s is back as %d", c.name, p.cmd.Process.Pid)
	}
}

// pauseAfter is how long the demo waits before it restarts a part that has already exited
// this many times in a row.
func pauseAfter(exits int) time.Duration {
	if exits == 0 {
		return 0
	}
	return min(firstPause<<min(exits-1, 10), longestPause)
}

// reportExit reports that a process ended and, unless it was killed, the end of its log.
func (c *child) reportExit(p *running, pause time.Duration) {
	again := ""
	if pause > 0 {
		again = fmt.Sprintf("; again in %v", pause)
	}
	message := fmt.Sprintf("%s %d exited (%s)%s", c.name, p.cmd.Process.Pid, p.cmd.ProcessState, again)
	if !killed(p.cmd.ProcessState) {
		message += ":\n" + lastLines(c.log, p.said, 5)
	}
	c.console.sayf("%s", message)
	select {
	case c.failed <- fmt.Errorf("%s exited before it answered (%s); its log is %s", c.name, p.cmd.ProcessState, c.log):
	default:
	}
}

func killed(state *os.ProcessState) bool {
	status, is := state.Sys().(syscall.WaitStatus)
	return is && status.Signaled()
}

// kill ends the life of the part that has this number, if it has not ended yet.
func (c *child) kill(pid int64) {
	if p := c.process.Load(); p != nil && int64(p.Pid) == pid {
		_ = p.Kill() // it may have ended already
	}
}

// stop asks the part to end, and kills it after stopTimeout.
func (c *child) stop() {
	c.once.Do(func() { close(c.cease) })
	<-c.ended
}

func (c *child) end(p *running) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
		c.console.sayf("%s %d stopped", c.name, p.cmd.Process.Pid)
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.exited
		c.console.sayf("%s %d was killed: it did not stop", c.name, p.cmd.Process.Pid)
	}
}

// lastLines is the end of what a log holds from an offset on, indented.
func lastLines(file string, from int64, n int) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "    " + err.Error()
	}
	text = text[min(from, int64(len(text))):] // the file may have been truncated
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return "    " + strings.Join(lines[max(0, len(lines)-n):], "\n    ")
}
