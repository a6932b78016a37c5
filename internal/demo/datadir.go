package demo

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/postgres/local"
)

// dataDir is what a demo keeps between runs, locked for one of them.
//
//	demo.lock        held while in use; contains the owner's process id
//	secret           the installation's secret
//	acquirer-secret  what the acquirer's clients present
//	env              the settings of the demo that is running
//	logs/            one file for each part
//	postgres/ …      the server's own: see package local
type dataDir struct {
	path string
	lock *os.File
}

// DefaultDataDir is where the demo keeps its data unless told otherwise.
func DefaultDataDir() string { return local.DefaultStateDir() }

func openDataDir(path string) (*dataDir, error) {
	if path == "" {
		path = DefaultDataDir()
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	letOthersIn()
	d := &dataDir{path: path}
	err = os.MkdirAll(d.logs(), 0o755)
	if err != nil {
		return nil, fmt.Errorf("cannot write the data directory %s (%w); choose another one with --data-dir", path, err)
	}
	d.lock, err = os.OpenFile(filepath.Join(path, "demo.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot write the data directory %s (%w); choose another one with --data-dir", path, err)
	}
	free, err := lockFile(d.lock)
	if err != nil {
		d.lock.Close()
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	if !free {
		owner, _ := os.ReadFile(d.lock.Name())
		d.lock.Close()
		return nil, fmt.Errorf("another demo (pid %s) is running in %s: stop it, or use another --data-dir and --addr",
			strings.TrimSpace(string(owner)), path)
	}
	d.removeEnviron() // of a run that was killed
	err = errors.Join(d.lock.Truncate(0), writeAt(d.lock, strconv.Itoa(os.Getpid())+"\n"))
	if err != nil {
		d.lock.Close()
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	return d, nil
}

func writeAt(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

func (d *dataDir) close() {
	d.removeEnviron()
	_ = d.lock.Close()
}

func (d *dataDir) logs() string           { return filepath.Join(d.path, "logs") }
func (d *dataDir) log(name string) string { return filepath.Join(d.logs(), name+".log") }

// secret reads a secret, or makes it on the first run. The API keys' hashes and
// the acquirer's keys hang on it, so it has to live as long as the data.
func (d *dataDir) secret(name string) (string, error) {
	path := filepath.Join(d.path, name)
	text, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the %s: %w", name, err)
	}
	random := make([]byte, 32)
	rand.Read(random) // never fails
	secret := hex.EncodeToString(random)
	err = replaceFile(path, secret+"\n")
	if err != nil {
		return "", fmt.Errorf("write the %s: %w", name, err)
	}
	return secret, nil
}

// replaceFile writes a file whole or not at all, readable by its owner only.
func replaceFile(path, text string) error {
	fresh := path + ".new"
	err := os.WriteFile(fresh, []byte(text), 0o600)
	if err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

func environFile(dir string) string { return filepath.Join(dir, "env") }

// writeEnviron leaves the settings of a running demo where the operator's
// commands, and a shell's ". env", find them.
func (d *dataDir) writeEnviron(settings []string) error {
	var text strings.Builder
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		fmt.Fprintf(&text, "%s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
	}
	err := replaceFile(environFile(d.path), text.String())
	if err != nil {
		return fmt.Errorf("write the demo's settings: %w", err)
	}
	return nil
}

func (d *dataDir) removeEnviron() { _ = os.Remove(environFile(d.path)) }

// Environ reads the settings of the demo that is running in a data directory
// (empty: DefaultDataDir). Without one the error is fs.ErrNotExist.
func Environ(dir string) (map[string]string, error) {
	if dir == "" {
		dir = DefaultDataDir()
	}
	file, err := os.Open(environFile(dir))
	if err != nil {
		return nil, fmt.Errorf("no demo is running in %s: %w", dir, err)
	}
	defer file.Close()
	settings := map[string]string{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), "=")
		value = strings.TrimSuffix(strings.TrimPrefix(value, "'"), "'")
		settings[name] = strings.ReplaceAll(value, `'\''`, "'")
	}
	err = lines.Err()
	if err != nil {
		return nil, fmt.Errorf("read the demo's settings: %w", err)
	}
	return settings, nil
}
