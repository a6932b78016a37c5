//go:build unix

package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	fastShutdown      = syscall.SIGINT  // end the sessions, write a checkpoint
	immediateShutdown = syscall.SIGQUIT // as in a crash; the next start recovers

	// shutdownTimeout is how long each kind of shutdown gets. There is no third:
	// after SIGKILL shared memory and children can stay behind and block the next start.
	shutdownTimeout = 10 * time.Second
)

// process is a postgres that is our child.
type process struct {
	cluster *cluster
	cmd     *exec.Cmd
	exited  chan struct{}
}

// serve starts postgres and waits until it answers. Between our finding a free
// port and its taking it another program may; then another port will do.
func (c *cluster) serve(ctx context.Context, password string) (*Server, error) {
	for try := 0; ; try++ {
		port, err := freePort(c.state.lastPort())
		if err != nil {
			return nil, err
		}
		server, err := c.serveOn(ctx, port, password)
		if err == nil {
			c.state.rememberPort(port)
			return server, nil
		}
		if !errors.Is(err, errPortTaken) || try == 4 {
			return nil, err
		}
	}
}

// freePort prefers the one of the last run, so that a bookmarked URL stays true.
func freePort(preferred int) (int, error) {
	for _, port := range []int{preferred, 0} {
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		defer listener.Close()
		return listener.Addr().(*net.TCPAddr).Port, nil
	}
	return 0, errors.New("no free port on 127.0.0.1")
}

func (c *cluster) serveOn(ctx context.Context, port int, password string) (*Server, error) {
	log, err := os.OpenFile(c.state.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("postgres log: %w", err)
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return nil, fmt.Errorf("postgres log: %w", err)
	}

	// The server is not ended by ctx, only the wait for it is. Its output goes to
	// a file because a pipe would break, and stop it, if we died first.
	p := &process{cluster: c, exited: make(chan struct{})}
	p.cmd = c.command(context.WithoutCancel(ctx), "postgres", c.arguments(port)...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if !c.options.Outlive {
		endWithParent(p.cmd)
	}
	err = p.start()
	if err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}

	server := &Server{URL: serverURL(port, password), Version: c.programs.version, run: p}
	err = p.waitReady(ctx, server.URL, info.Size())
	if err != nil {
		return nil, err
	}
	return server, nil
}

// serverURL logs in as the superuser of a server that we started.
func serverURL(port int, password string) string {
	address := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Path:     "/postgres",
		RawQuery: "sslmode=disable",
	}
	return address.String()
}

func (c *cluster) arguments(port int) []string {
	settings := []string{
		"listen_addresses=127.0.0.1",
		"unix_socket_directories=", // Debian's default is a directory only its own user may write
		"timezone=UTC",
		"log_timezone=UTC",
	}
	if c.options.Ephemeral {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	args := []string{"-D", c.state.data(), "-p", strconv.Itoa(port)}
	for _, setting := range append(settings, c.options.ExtraSettings...) {
		args = append(args, "-c", setting) // of two for one name the later holds
	}
	return args
}

// start forks on a thread that lives as long as the server: the signal that
// ends it with us (endWithParent) is sent when the forking thread ends, and Go
// ends threads as it likes.
func (p *process) start() error {
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
	return <-started
}

var errPortTaken = errors.New("the port is already in use")

// waitReady waits as long as the server lives: recovery after a crash may take
// its time, and only ctx says how much.
func (p *process) waitReady(ctx context.Context, url string, logStart int64) error {
	log := p.cluster.options.Log
	began, reported := time.Now(), time.Now()
	for {
		select {
		case <-p.exited:
			return startFailure(p.cluster.state.log(), logStart)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("start postgres: %w", ctx.Err()), p.stop())
		case <-time.After(15 * time.Millisecond):
		}

		_, err := ping(ctx, url)
		if err == nil {
			log("postgres: ready after %v", time.Since(began).Round(time.Millisecond))
			return nil
		}
		if wrongPassword(err) {
			return errors.Join(fmt.Errorf("the password in %s does not match the data beside it: %w",
				p.cluster.state.password(), err), p.stop())
		}
		if time.Since(reported) > 5*time.Second {
			log("postgres: still starting (%v)", err)
			reported = time.Now()
		}
	}
}

func wrongPassword(err error) bool {
	const invalidPassword = "28P01"
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == invalidPassword
}

func startFailure(logFile string, from int64) error {
	said := tail(logFile, from, 15)
	if strings.Contains(said, "could not bind") {
		return fmt.Errorf("%w:\n%s", errPortTaken, said)
	}
	return fmt.Errorf("postgres exited immediately; its log:\n%s", said)
}

// tail is the last lines of what a file holds from an offset on.
func tail(file string, from int64, lines int) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	said := strings.Split(strings.TrimSpace(string(text[min(from, int64(len(text))):])), "\n")
	said = said[max(0, len(said)-lines):]
	return "    " + strings.Join(said, "\n    ")
}

func (p *process) pid() int              { return p.cmd.Process.Pid }
func (p *process) done() <-chan struct{} { return p.exited }

func (p *process) stop() error {
	for _, shutdown := range []syscall.Signal{fastShutdown, immediateShutdown} {
		_ = p.cmd.Process.Signal(shutdown)
		select {
		case <-p.exited:
			return nil
		case <-time.After(shutdownTimeout):
		}
	}
	return fmt.Errorf("postgres (pid %d) does not stop", p.pid())
}
