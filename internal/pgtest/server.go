package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/postgres/local"
)

const (
	// maxConnections lets a hundred parallel tests fill their pools; processes that
	// were killed a moment ago still count until their backends notice.
	maxConnections = 1000

	// keptFor is how long the server of a failed test is kept for inspection.
	keptFor = 24 * time.Hour

	// startTimeout covers a download of the server the first time.
	startTimeout = 10 * time.Minute
)

// endsWithRun is set where the server of TEST_DATABASE_URL is stopped after the
// tests, so that they do not offer databases which will be gone.
const endsWithRun = "TEST_DATABASE_ENDS"

// server is what all tests of a process share.
type server struct {
	url      string
	admin    *pgxpool.Pool // without our sessions' limits: a copy may take its time
	template string

	own      *local.Server // nil if it was given
	outlives bool          // what is on it can be looked at after the process has ended
	kept     atomic.Bool   // a failed test left its database
}

var process struct {
	once   sync.Once
	server *server
	err    error
}

// shared starts the process's server with the first test that needs one.
func shared(t testing.TB) *server {
	t.Helper()
	process.once.Do(func() { process.server, process.err = connect() })
	if process.err != nil {
		t.Fatalf("pgtest: %v", process.err)
	}
	return process.server
}

func connect() (*server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()

	s := &server{url: os.Getenv("TEST_DATABASE_URL"), outlives: os.Getenv(endsWithRun) == ""}
	if s.url == "" {
		own, err := StartServer(ctx)
		if err != nil {
			return nil, fmt.Errorf("start a server for tests (TEST_DATABASE_URL names one that runs): %w", err)
		}
		s.own, s.url = own, own.URL
		s.outlives = Keeping() && own.PID() != 0 // a container ends with us
	}
	err := s.prepare(ctx)
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *server) prepare(ctx context.Context) error {
	// Names of databases are put into this address; the other form of
	// connection string has no place for them.
	u, err := url.Parse(s.url)
	if err != nil || u.Host == "" {
		return fmt.Errorf("TEST_DATABASE_URL is not of the form postgres://user:password@host:port/database")
	}
	s.admin, err = pgxpool.New(ctx, s.url)
	if err != nil {
		return fmt.Errorf("test server: %w", err)
	}
	s.template, err = s.ensureTemplate(ctx)
	if err != nil {
		return fmt.Errorf("template database: %w", err)
	}
	return nil
}

// StartServer starts an empty, ephemeral server, the kind that tests run on.
// Docker comes before the download: where both are there, the image is the one
// the documentation names and is often pulled already.
func StartServer(ctx context.Context) (*local.Server, error) {
	root := filepath.Join(fastDir(), fmt.Sprintf("ratchet-test-%d", os.Getuid()))
	kept := root + "-kept"
	local.RemoveAbandoned(root, 0)
	local.RemoveAbandoned(kept, keptFor)
	if Keeping() {
		root = kept
	}

	return local.Start(ctx, local.Options{
		StateDir:      filepath.Join(root, fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano())),
		Ephemeral:     true,
		ExtraSettings: []string{fmt.Sprintf("max_connections=%d", maxConnections)},
		Sources:       []local.Source{local.Installed, local.Docker, local.Download},
		Docker:        runContainer,
		Outlive:       Keeping(),
	})
}

// Environ is what a command needs to run its tests on s.
func Environ(s *local.Server) []string {
	env := []string{"TEST_DATABASE_URL=" + s.URL}
	if !Keeping() || s.PID() == 0 {
		env = append(env, endsWithRun+"=1")
	}
	return env
}

// Keeping reports whether the user wants to look into the databases of failed tests.
func Keeping() bool { return os.Getenv("KEEP_DB") == "1" }

func (s *server) howToStop() string {
	if s.own == nil {
		return ""
	}
	return fmt.Sprintf("\n\t(its server runs for a day, or until kill -INT %d)", s.own.PID())
}

func stopShared() {
	if process.server != nil {
		process.server.stop()
	}
}

func (s *server) stop() {
	if s.admin != nil {
		s.admin.Close()
	}
	if s.own == nil || s.kept.Load() {
		return
	}
	err := s.own.Stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "pgtest: %v\n", err)
	}
}
