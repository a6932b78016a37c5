package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// stateDir is the directory of one server, locked for this program.
//
//	lock       held while in use; contains the holder's process id
//	url        how to log in, while the server runs
//	port       the port of the last run, so that a printed URL stays true
//	postgres/  what the server's own user owns: data, log, password
type stateDir struct {
	path string
	lock *os.File
}

// DefaultStateDir is where a server keeps its data unless told otherwise. For
// root it is outside root's home, which the server's user could not enter.
func DefaultStateDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/ratchet"
	}
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "ratchet")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "ratchet")
	}
	return filepath.Join(home, ".local", "state", "ratchet")
}

// openState makes the directory if needed and locks it. The kernel frees the
// lock however this process ends, so a lock that is held has a living holder.
func openState(path string) (*stateDir, error) {
	if path == "" {
		path = DefaultStateDir()
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	err = makeDir(path)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}

	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	free, err := lockFile(lock)
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("lock the state directory: %w", err)
	}
	if !free {
		owner, _ := os.ReadFile(lock.Name())
		lock.Close()
		return nil, fmt.Errorf("another instance (pid %s) is using %s; stop it, or choose another data directory",
			strings.TrimSpace(string(owner)), path)
	}
	s := &stateDir{path: path, lock: lock}
	err = s.claim()
	if err != nil {
		s.close()
		return nil, fmt.Errorf("state directory: %w", err)
	}
	return s, nil
}

// claim records who holds the lock, and takes back the URL of a run that was killed.
func (s *stateDir) claim() error {
	s.removeURL()
	err := s.lock.Truncate(0)
	if err != nil {
		return err
	}
	_, err = s.lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func (s *stateDir) close() { _ = s.lock.Close() }

// clusterDir is the part that belongs to the server's user.
func (s *stateDir) clusterDir() string { return filepath.Join(s.path, "postgres") }
func (s *stateDir) data() string       { return filepath.Join(s.clusterDir(), "data") }
func (s *stateDir) log() string        { return filepath.Join(s.clusterDir(), "log") }
func (s *stateDir) password() string   { return filepath.Join(s.clusterDir(), "password") }

func (s *stateDir) urlFile() string  { return filepath.Join(s.path, "url") }
func (s *stateDir) portFile() string { return filepath.Join(s.path, "port") }

// clusterMajor is the version that made the data, 0 if there is none.
func (s *stateDir) clusterMajor() int {
	version, err := os.ReadFile(filepath.Join(s.data(), "PG_VERSION"))
	if err != nil {
		return 0
	}
	return major(strings.TrimSpace(string(version)))
}

// writeURL appears whole or not at all: Attach may be reading.
func (s *stateDir) writeURL(url string) error {
	fresh := s.urlFile() + ".new"
	err := os.WriteFile(fresh, []byte(url+"\n"), 0o600)
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	err = os.Rename(fresh, s.urlFile())
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	return nil
}

func (s *stateDir) removeURL() { _ = os.Remove(s.urlFile()) }

// lastPort is 0 when no server ran here before.
func (s *stateDir) lastPort() int {
	text, err := os.ReadFile(s.portFile())
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return port
}

func (s *stateDir) rememberPort(port int) {
	// Only a convenience: without it the next run has another port.
	_ = os.WriteFile(s.portFile(), []byte(strconv.Itoa(port)+"\n"), 0o644)
}

// remove deletes what this package put into the directory, and the directory if
// nothing else is left in it.
func (s *stateDir) remove() error {
	err := os.RemoveAll(s.clusterDir())
	if err != nil {
		return err
	}
	for _, file := range []string{s.urlFile(), s.portFile(), s.lock.Name()} {
		_ = os.Remove(file)
	}
	_ = os.Remove(s.path)
	return nil
}

// Attach returns the URL of the server that another program runs in stateDir
// (empty: DefaultStateDir). The server stays the other's: it ends when that does.
func Attach(stateDir string) (url string, err error) {
	if stateDir == "" {
		stateDir = DefaultStateDir()
	}
	text, err := os.ReadFile(filepath.Join(stateDir, "url"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("no server is running in %s", stateDir)
	}
	if err != nil {
		return "", fmt.Errorf("attach: %w", err)
	}

	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	// The file may have outlived a server that was killed. The password is that
	// cluster's alone, so a server that accepts it is the right one.
	url = strings.TrimSpace(string(text))
	_, err = ping(ctx, url)
	if err != nil {
		return "", fmt.Errorf("the server of %s does not respond (was its program killed?): %w", stateDir, err)
	}
	return url, nil
}
