//go:build unix

package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ratchet-pay/ratchet/internal/port"
)

// brokerModule is the server that is built where none is installed. It is a program of
// its own: neither ratchet nor the lab carries it.
const brokerModule = "github.com/nats-io/nats-server/v2@v2.15.2"

// BrokerServer is the program nats-server, or "" if there is none.
func BrokerServer() string {
	if cached, err := builtBroker(); err == nil && executable(cached) {
		return cached
	}
	return installed("nats-server")
}

func builtBroker() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "ratchet", "nats-server"), err
}

func executable(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}

// installed finds a server's program. Distributions put some where a user's PATH does not lead.
func installed(name string) string {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/local/sbin") {
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found
		}
	}
	return ""
}

// buildBroker compiles the pinned server into the user's cache: about 40 seconds of one
// processor, once.
func buildBroker(ctx context.Context) (string, error) {
	built, err := builtBroker()
	if err != nil {
		return "", err
	}
	fmt.Fprintln(os.Stderr, "Compiling the broker, "+brokerModule+": about a minute, once.")
	return BuildBroker(ctx, filepath.Dir(built))
}

// BuildBroker compiles the pinned server into a directory and returns the program.
func BuildBroker(ctx context.Context, dir string) (program string, err error) {
	install := exec.CommandContext(ctx, "go", "install", brokerModule)
	install.Env = append(os.Environ(), "GOBIN="+dir)
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("no broker: install nats-server, or set NATS_URL. Building one failed: %w\n%s", err, out)
	}
	return filepath.Join(dir, "nats-server"), nil
}

// broker is NATS with JetStream: the server that NATS_URL names, or one of the lab's own.
type broker struct {
	url  string
	conn *nats.Conn
	js   jetstream.JetStream
}

// openBroker returns the broker, which all runs share. It is started when the first
// run needs it.
func (s *Runner) openBroker(ctx context.Context) (*broker, error) {
	s.brokerOnce.Lock()
	defer s.brokerOnce.Unlock()
	if s.broker != nil {
		return s.broker, nil
	}
	b := &broker{url: s.NATSURL}
	var err error
	if b.url != "" {
		b.conn, err = connectTo(b.url)
	} else {
		err = b.start(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	s.atEnd(b.conn.Close)
	if b.js, err = jetstream.New(b.conn); err != nil {
		return nil, err
	}
	if _, err := b.js.AccountInfo(ctx); err != nil {
		return nil, fmt.Errorf("the broker at %s has no JetStream: %w", b.url, err)
	}
	s.broker = b
	return b, nil
}

// connectTo connects to a server that was running before the lab: it responds now, or not at all.
func connectTo(natsURL string) (*nats.Conn, error) {
	conn, err := nats.Connect(natsURL, nats.Name("ratchet-lab"))
	if err != nil {
		return nil, fmt.Errorf("NATS_URL is set but the server does not respond: %w", err)
	}
	return conn, nil
}

// start starts a server of the lab's own, and connects as soon as it responds.
func (b *broker) start(ctx context.Context, s *Runner) error {
	addr, err := s.startBroker(ctx)
	if err != nil {
		return err
	}
	b.url = "nats://" + addr
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(10 * time.Millisecond) {
		if b.conn, err = nats.Connect(b.url, nats.Name("ratchet-lab")); err == nil {
			return nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("reach the broker at %s: %w", b.url, err)
		}
	}
}

// startBroker starts a server that keeps its data in the runner's directory.
func (s *Runner) startBroker(ctx context.Context) (addr string, err error) {
	program := cmp.Or(s.Broker, BrokerServer())
	if program == "" {
		if program, err = buildBroker(ctx); err != nil {
			return "", err
		}
	}
	if addr, err = port.Reserve(); err != nil {
		return "", err
	}
	host, number, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	p := &process{name: "nats-server", gone: make(chan struct{}),
		cmd: exec.Command(program, "-a", host, "-p", number, "-js", "-sd", filepath.Join(s.dir, "broker"))}
	apart(p.cmd)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := p.launch(stderr, nil); err != nil {
		return "", errors.Join(errors.New("start the broker"), err)
	}
	s.atEnd(p.kill)
	return addr, nil
}
