// Package local finds or makes a PostgreSQL server for a program that must run
// with no set-up.
//
//	a given URL ──▶ installed binaries ──▶ pinned download ──▶ an error that says what was tried
//
// A step that is not available here (nothing installed, offline, no daemon)
// gives way to the next one. A step that is available and fails ends the chain:
// hiding a broken database behind a new, empty one would be worse than any error.
//
// A server started here is a child process. It listens on 127.0.0.1, keeps its
// data below StateDir and belongs to one program at a time. Where the system
// can do so (Linux) it shuts down cleanly when that program dies, however it dies;
// elsewhere the next start stops what was left behind.
package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// oldestMajor is the oldest PostgreSQL the schema is written for.
const oldestMajor = 15

// superuser owns every cluster made here.
const superuser = "ratchet"

// Source is a way to come by a server.
type Source string

// The sources, in the order they are tried.
const (
	Installed Source = "installed" // initdb and postgres found on this machine
	Download  Source = "download"  // a pinned, checksummed package of the npm registry
	Docker    Source = "docker"    // a container; its data ends with it
)

// Options says what to start. The zero value is a durable server in DefaultStateDir.
type Options struct {
	// StateDir holds the cluster, its password and its log; made if missing.
	StateDir string

	// CacheDir keeps downloaded binaries between runs. Empty: the user's cache
	// directory, for root /var/cache/ratchet.
	CacheDir string

	// URL of a server that exists already, usually $DATABASE_URL. If set it is
	// the only one considered, and nothing is started.
	URL string

	// Ephemeral gives up durability for speed and removes the data on Stop. For
	// tests: a crash of the machine destroys the cluster. It is set on the command
	// line only, so no file can carry it over to a database that matters.
	Ephemeral bool

	// ExtraSettings are name=value pairs that overrule the server's configuration.
	ExtraSettings []string

	// Sources to try, in order. nil: Installed, then Download.
	Sources []Source

	// Docker is asked for a server where it is among the Sources.
	Docker RunContainer

	// Outlive keeps the server running when this program ends without Stop.
	Outlive bool

	// Log reports what happens; nil discards it.
	Log func(format string, args ...any)
}

// Server is a PostgreSQL server that answers.
type Server struct {
	// URL logs in as the superuser of a server started here, as the user given
	// otherwise. It contains the password.
	URL string

	// Source is where the server came from; empty if its URL was given.
	Source Source

	// Version as the server words it: "17.10".
	Version string

	state     *stateDir
	ephemeral bool
	run       running // nil if the URL was given
}

// running is a server that has to be stopped.
type running interface {
	stop() error
	pid() int
	done() <-chan struct{}
}

// unavailable is why a source cannot be used here. Only this kind of error lets
// the chain go on.
type unavailable struct{ reason string }

func (u *unavailable) Error() string { return u.reason }

func unavailablef(format string, args ...any) error {
	return &unavailable{reason: fmt.Sprintf(format, args...)}
}

// Start returns when the server answers. The caller stops it.
//
// If another program already runs one in the same StateDir, Start says so and
// names its process id; Attach is the way to share it.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	if o.URL != "" {
		return given(ctx, o.URL)
	}
	if o.Sources == nil {
		o.Sources = []Source{Installed, Download}
	}

	state, err := openState(o.StateDir)
	if err != nil {
		return nil, err
	}
	server, err := firstAvailable(ctx, o, state)
	if err != nil {
		state.close()
		return nil, err
	}
	server.state, server.ephemeral = state, o.Ephemeral
	err = state.writeURL(server.URL)
	if err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return server, nil
}

// given is the server the user named. If it does not answer that is the user's
// to know, never a reason to use another.
func given(ctx context.Context, url string) (*Server, error) {
	version, err := ping(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL is set but the server does not respond: %w", err)
	}
	if major(version) < oldestMajor {
		return nil,
			fmt.Errorf("DATABASE_URL is set but its server is PostgreSQL %s; need %d or newer", version, oldestMajor)
	}
	return &Server{URL: url, Version: version}, nil
}

func firstAvailable(ctx context.Context, o Options, state *stateDir) (*Server, error) {
	start := map[Source]func(context.Context, Options, *stateDir) (*Server, error){
		Installed: startInstalled,
		Download:  startDownloaded,
		Docker:    startContainer,
	}
	tried := []string{"DATABASE_URL: not set"}
	for _, source := range o.Sources {
		if start[source] == nil {
			return nil, fmt.Errorf("unknown source of PostgreSQL %q", source)
		}
		server, err := start[source](ctx, o, state)
		if err == nil {
			server.Source = source
			return server, nil
		}
		var reason *unavailable
		if !errors.As(err, &reason) {
			return nil, err
		}
		tried = append(tried, fmt.Sprintf("%s: %s", source, reason))
	}
	return nil, nothingFound(tried, o.Docker != nil)
}

func nothingFound(tried []string, docker bool) error {
	start := ""
	if docker {
		start = "\n  * start Docker"
	}
	return fmt.Errorf(`no PostgreSQL found. Tried:
  - %s
Do one of these:
  * set DATABASE_URL=postgres://user:password@host:5432/db (PostgreSQL %d or newer)
  * install the server: apt-get install postgresql | dnf install postgresql-server | brew install postgresql@17%s`,
		strings.Join(tried, "\n  - "), oldestMajor, start)
}

// ping reports the version of a server that answers with this login.
func ping(ctx context.Context, url string) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()

	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)

	err = conn.QueryRow(ctx, `SHOW server_version`).Scan(&version)
	return version, err
}

// Stop ends a server that Start started, letting running statements fail, and
// removes an Ephemeral one's data. It does nothing to a server whose URL was given.
// It can be called again.
func (s *Server) Stop() error {
	if s.run == nil {
		return nil
	}
	s.state.removeURL()
	err := s.run.stop()
	if err == nil && s.ephemeral {
		err = s.state.remove()
	}
	s.state.close()
	return err
}

// PID is the server's process id; 0 if it is not a child of this program.
func (s *Server) PID() int {
	if s.run == nil {
		return 0
	}
	return s.run.pid()
}

// Done is closed when a server that is our child has ended, stopped or not.
// It is nil, and so blocks forever, for any other.
func (s *Server) Done() <-chan struct{} {
	if s.run == nil {
		return nil
	}
	return s.run.done()
}
