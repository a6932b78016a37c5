// Package mutant removes one safeguard of Ratchet, for readers who want to see what it is for.
//
//	source + edits ──overlay──▶ go build ──▶ a broken ratchet ──▶ the lab counts its charges
//
// The files on disk stay as they are: the compiler is given the changed ones as an
// overlay. test/mutants makes its faults in the same way, and has most of these among them,
// each with the test that catches it.
package mutant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Edit replaces a text that a file contains exactly once.
type Edit struct{ File, Old, New string }

// Overlay writes the changed files into a directory and returns the file that tells the
// compiler of them. root is the source tree; prefix tells several overlays in dir apart.
func Overlay(root, dir, prefix string, edits []Edit) (string, error) {
	changed := map[string]string{} // text by path
	for _, e := range edits {
		path := filepath.Join(root, filepath.FromSlash(e.File))
		text, again := changed[path]
		if !again {
			read, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			text = string(read)
		}
		if found := strings.Count(text, e.Old); found != 1 {
			return "", fmt.Errorf("%s has this text %d times, want once: %q", e.File, found, e.Old)
		}
		changed[path] = strings.Replace(text, e.Old, e.New, 1)
	}
	var list struct{ Replace map[string]string }
	list.Replace = map[string]string{}
	for path, text := range changed {
		copied := filepath.Join(dir, fmt.Sprintf("%s-%d-%s", prefix, len(list.Replace), filepath.Base(path)))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			return "", err
		}
		list.Replace[path] = copied
	}
	encoded, err := json.Marshal(list)
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, prefix+"-overlay.json")
	return overlay, os.WriteFile(overlay, encoded, 0o600)
}

const module = "github.com/ratchet-pay/ratchet"

// ErrNoSource says that the source tree is not here.
var ErrNoSource = errors.New("the source of Ratchet not found: an exercise compiles a changed Ratchet, so run this " +
	"in a clone of the repository, with Go installed")

// SourceTree is the directory of the source, if the working directory lies in it.
func SourceTree(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	root := strings.TrimSpace(string(out))
	if err != nil || root == "" {
		return "", ErrNoSource
	}
	return root, nil
}

// Build compiles ratchet without the safeguard of an exercise, into dir, and returns the program.
func (e Exercise) Build(ctx context.Context, root, dir string) (program string, err error) {
	overlay, err := Overlay(root, dir, e.Name, e.Edits)
	if err != nil {
		return "", err
	}
	program = filepath.Join(dir, "ratchet-"+e.Name)
	// Without what only debuggers need, linking takes half the time.
	compile := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-ldflags=-s -w", "-o", program,
		"./cmd/ratchet")
	compile.Dir = root
	var complaints bytes.Buffer
	compile.Stdout, compile.Stderr = &complaints, &complaints
	if err := compile.Run(); err != nil {
		return "", fmt.Errorf("build ratchet without the safeguard: %w\n%s", err, complaints.String())
	}
	return program, nil
}
