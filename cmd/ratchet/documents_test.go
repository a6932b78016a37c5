//go:build linux

package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// documentedCommands are the commands of the README and of the docs: indented lines, without comments.
func documentedCommands(t *testing.T) (all map[string]string) {
	t.Helper()
	const repository = "../.."
	aCommand := regexp.MustCompile(`(?m)^    ((?:make|go run \./cmd/ratchet)\b[^#\n]*)`)
	all = map[string]string{}
	read := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range aCommand.FindAllStringSubmatch(string(text), -1) {
			all[strings.TrimSpace(found[1])] = path
		}
	}
	read(filepath.Join(repository, "README.md"))
	read(filepath.Join(repository, "CONTRIBUTING.md"))
	err := filepath.WalkDir(filepath.Join(repository, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			read(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestDocumentedCommands(t *testing.T) {
	t.Parallel()

	t.Run("each command of the documents exists, with its flags and arguments", func(t *testing.T) {
		t.Parallel()
		commands, targets := documentedCommands(t), makeTargets(t)
		for command, page := range commands {
			words := strings.Fields(command)
			if words[0] == "make" {
				if !targets[words[1]] {
					t.Errorf("%s: %s: the Makefile has no such target", page, command)
				}
				continue
			}
			top, _ := root()
			called, rest, err := top.Find(words[3:])
			if err == nil && !called.DisableFlagParsing { // the lab's program parses its own
				err = called.ParseFlags(rest)
			}
			if err == nil && !called.DisableFlagParsing {
				err = called.ValidateArgs(called.Flags().Args())
			}
			if err != nil && !errors.Is(err, pflag.ErrHelp) || called == top {
				t.Errorf("%s: %s: %v", page, command, err)
			}
		}
		if len(commands) < 30 {
			t.Errorf("found %d commands; the search is broken", len(commands))
		}
	})

	t.Run("the README's curl and ratchet commands run against a demo", func(t *testing.T) {
		t.Parallel()
		text, err := os.ReadFile("../../README.md")
		if err != nil {
			t.Fatal(err)
		}
		_, steps, found := strings.Cut(string(text), "### Do the same with curl")
		steps, _, ended := strings.Cut(steps, "### The lab")
		if !found || !ended {
			t.Fatal("the README has no commands to run")
		}
		d := startDemo(t, dataDir(t), nil)
		env := []string{"RATCHET_DATA_DIR=" + d.dir}
		asked, said := 0, 0
		for _, command := range indented(steps) {
			switch {
			case strings.HasPrefix(command, "curl "):
				asked++
				d.curl(t, command)
			case strings.HasPrefix(command, "go run ./cmd/ratchet "):
				said++
				if out := mustDo(t, env, strings.Fields(command)[3:]...); out == "" {
					t.Errorf("%s prints nothing", command)
				}
			}
		}
		if asked != 2 || said != 3 {
			t.Errorf("ran %d curl commands and %d of ratchet; the search is broken", asked, said)
		}
	})
}

// curl runs a command of the README in a shell, against the demo's address.
func (d *running) curl(t *testing.T, command string) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal("needs curl: apt-get install curl")
	}
	shell := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(command, "http://127.0.0.1:8080", d.base))
	out, err := shell.CombinedOutput()
	said := string(out)
	if err != nil || !strings.Contains(said, "200 OK") || !strings.Contains(said, `"status": "succeeded"`) {
		t.Errorf("%s: %v\n%s", command, err, said)
	}
}

// indented are the commands of a document: indented lines, joined where they end in a backslash.
func indented(text string) (commands []string) {
	joined := strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.SplitSeq(joined, "\n") {
		if command, is := strings.CutPrefix(line, "    "); is {
			commands = append(commands, strings.TrimSpace(command))
		}
	}
	return commands
}

func TestEveryPhonyTargetHasARule(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := makeTargets(t)
	phony := regexp.MustCompile(`(?m)^\.PHONY:(.*)$`).FindStringSubmatch(string(text))
	if phony == nil {
		t.Fatal("the Makefile names no phony targets")
	}
	for _, name := range strings.Fields(phony[1]) {
		if !targets[name] {
			t.Errorf("make %s does nothing: the target has no rule", name)
		}
	}
}

func makeTargets(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^([a-z][a-z-]*):`).FindAllStringSubmatch(string(text), -1) {
		targets[found[1]] = true
	}
	return targets
}
