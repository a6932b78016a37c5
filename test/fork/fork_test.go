// Package fork_test follows docs/fork.md, so that it stays true.
package fork_test

import (
	"bufio"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// block is a block of commands or of code in a document.
var block = regexp.MustCompile("(?ms)^```(sh|go)\n(.*?)^```")

// TestFork makes a fork as docs/fork.md says, starts it and charges a card. Most of its
// time is the compiler's: what was compiled before comes from Go's build cache.
func TestFork(t *testing.T) {
	t.Parallel()
	f := &fork{dir: t.TempDir(), database: pgtest.New(t).URL}
	f.copy(t)
	text, err := os.ReadFile(filepath.Join(f.dir, "docs", "fork.md"))
	if err != nil {
		t.Fatal(err)
	}
	steps := block.FindAllStringSubmatch(string(text), -1)
	if len(steps) != 4 {
		t.Fatalf("docs/fork.md has %d blocks, want 4: commands, commands, code, commands", len(steps))
	}
	for _, step := range steps {
		if step[1] == "sh" {
			f.run(t, "bash", "-euo", "pipefail", "-c", step[2])
			continue
		}
		path, found := strings.CutPrefix(step[2][:strings.Index(step[2], "\n")], "// ")
		if !found {
			t.Fatalf("the code does not begin with its file: %s", step[2])
		}
		if err := os.WriteFile(filepath.Join(f.dir, path), []byte(step[2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("its program contains neither a demo nor a simulator nor a database server", func(t *testing.T) {
		gone := []string{"internal/demo", "internal/demo/shop", "internal/acquirer/simulator",
			"internal/postgres/local"}
		for name := range strings.Lines(f.run(t, "go", "list", "-deps", "./cmd/ratchet")) {
			if slices.Contains(gone, strings.TrimPrefix(strings.TrimSpace(name), "example.com/pay/")) {
				t.Errorf("it contains %s", name)
			}
			if strings.Contains(name, "ratchet-pay") {
				t.Errorf("it contains %s, under the old name", name)
			}
		}
	})

	t.Run("all of it compiles, its tests too", func(t *testing.T) {
		f.run(t, "go", "vet", "./cmd/...", "./internal/...", "./examples/...")
	})

	t.Run("it charges a card through the other adapter, once", func(t *testing.T) {
		f.serve(t)
		first, again := f.charge(t), f.charge(t)
		if first.Status != "succeeded" || first.Amount != 2000 || first.ID != again.ID {
			t.Errorf("the charge is %+v, and its retry %+v", first, again)
		}
		books, err := os.ReadFile(f.books())
		if err != nil || strings.Count(string(books), "\n") != 1 || !strings.Contains(string(books), first.ID) {
			t.Errorf("the bank's books are %s, %v", books, err)
		}
	})
}

type fork struct{ dir, database, base string }

func (f *fork) books() string { return filepath.Join(f.dir, "bank.jsonl") }

// copy copies what a clone of the repository has.
func (f *fork) copy(t *testing.T) {
	t.Helper()
	root := filepath.Join("..", "..")
	skipped := []string{".git", "bin", "tmp", "node_modules", "screenshots"}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		to := filepath.Join(f.dir, name)
		if entry.IsDir() {
			if name != "." && slices.Contains(skipped, entry.Name()) {
				return filepath.SkipDir
			}
			return os.MkdirAll(to, 0o700)
		}
		if info, err := entry.Info(); err != nil || !info.Mode().IsRegular() || info.Size() > 8<<20 {
			return err // a program that was built here, or a worktree's link to its repository
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, content, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fork) environ() []string {
	return append(os.Environ(), "GOFLAGS=-trimpath -buildvcs=false", "RATCHET_DATABASE_URL="+f.database,
		"RATCHET_SECRET=a secret of a fork, which is long enough", "RATCHET_ACQUIRER_SECRET=not used by the bank",
		"RATCHET_ACQUIRER_URL=file://localhost"+f.books())
}

func (f *fork) command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir, command.Env = f.dir, f.environ()
	return command
}

func (f *fork) run(t *testing.T, name string, args ...string) (output string) {
	t.Helper()
	began := time.Now()
	var complaints strings.Builder
	command := f.command(t, name, args...)
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, complaints.String())
	}
	t.Logf("%s: %s", time.Since(began).Round(time.Second), strings.Join(args, " "))
	return string(out)
}

// serve starts the API and waits until it listens.
func (f *fork) serve(t *testing.T) {
	t.Helper()
	command := f.command(t, filepath.Join(f.dir, "bin", "ratchet"), "serve", "--addr", "127.0.0.1:0")
	logs, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	for lines := bufio.NewScanner(logs); lines.Scan(); {
		var line struct{ Msg, Addr string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			f.base = "http://" + line.Addr
			go func() { _, _ = io.Copy(io.Discard, logs) }()
			return
		}
		t.Log(lines.Text())
	}
	t.Fatal("it ended before it served")
}

type charge struct {
	ID     string
	Status string
	Amount int64
}

// charge makes the same request each time.
func (f *fork) charge(t *testing.T) (made charge) {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(f.dir, "bin", "key"))
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.base+"/v1/charges",
		strings.NewReader("amount=2000&currency=usd&source=tok_visa"))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(strings.TrimSpace(string(key)), "")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Idempotency-Key", "the first charge of a fork")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("the charge was answered with %d: %s, %v", response.StatusCode, body, err)
	}
	if err := json.Unmarshal(body, &made); err != nil {
		t.Fatal(err)
	}
	return made
}
