package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/lab/mutant"
)

// runner runs tests of broken sources.
type runner struct {
	root string   // of the module
	dir  string   // for the broken files
	env  []string // with a database server in it

	verbose bool
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// baseline runs every test that is to catch a fault, on the sources as they are.
func (run *runner) baseline(ctx context.Context, chosen []fault) error {
	tests := map[string][]string{} // by package
	for _, f := range chosen {
		top, _, _ := strings.Cut(f.test, "/")
		if !slices.Contains(tests[f.pkg], top) {
			tests[f.pkg] = append(tests[f.pkg], top)
		}
	}
	passed := map[string]bool{}
	for pkg, names := range tests {
		report, err := run.goTest(ctx, pkg, "^("+strings.Join(names, "|")+")$", "")
		if err != nil {
			return err
		}
		if len(report.failed) > 0 {
			return fmt.Errorf("%s fails without a fault: %s\n%s", pkg, strings.Join(report.failed, ", "), report.output)
		}
		for _, name := range report.passed {
			passed[pkg+" "+name] = true
		}
	}
	for _, f := range chosen {
		if !passed[f.pkg+" "+strings.ReplaceAll(f.test, " ", "_")] {
			return fmt.Errorf("%s has no test %q, which is to catch that %s", f.pkg, f.test, f.name)
		}
	}
	return nil
}

// try makes a fault and runs the test that is to catch it.
func (run *runner) try(ctx context.Context, n int, f fault) (report, error) {
	overlay, err := run.overlay(n, f)
	if err != nil {
		return report{}, err
	}
	var pattern []string
	for _, part := range strings.Split(f.test, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	return run.goTest(ctx, f.pkg, strings.Join(pattern, "/"), overlay)
}

// overlay writes the broken files and returns the file that tells the compiler of them.
func (run *runner) overlay(n int, f fault) (string, error) {
	var edits []mutant.Edit
	for _, e := range f.edits {
		edits = append(edits, mutant.Edit{File: e.file, Old: e.old, New: e.new})
	}
	return mutant.Overlay(run.root, run.dir, fmt.Sprint(n), edits)
}

// report is what came of a run of go test. Names are as go test prints them.
type report struct {
	passed, failed []string
	output         string
}

// goTest runs tests. That some of them fail is a result; that there are none, or
// that the sources do not compile, is an error.
func (run *runner) goTest(ctx context.Context, pkg, pattern, overlay string) (report, error) {
	args := []string{"test", "-json", "-count=1", "-vet=off", "-timeout=10m", "-run=" + pattern}
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir, cmd.Env = run.root, run.env
	if overlay != "" { // for the test, and for the program that some tests build
		cmd.Env = append(slices.Clip(run.env), "GOFLAGS=-overlay="+overlay)
	}
	out, err := cmd.Output()
	r := read(out)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return r, err
	}
	if len(r.failed) == 0 && (err != nil || len(r.passed) == 0) {
		return r, fmt.Errorf("%s: no test ran (%v)\n%s", pkg, err, r.output)
	}
	return r, nil
}

// read reads the events of go test -json. Of a test and its subtests only the
// innermost failure is reported.
func read(out []byte) (r report) {
	var output strings.Builder
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			continue
		}
		switch {
		case event.Action == "output" || event.Action == "build-output":
			output.WriteString(event.Output)
		case event.Test == "":
		case event.Action == "pass":
			r.passed = append(r.passed, event.Test)
		case event.Action == "fail":
			around := func(name string) bool { return strings.HasPrefix(name, event.Test+"/") }
			if !slices.ContainsFunc(r.failed, around) {
				r.failed = append(r.failed, event.Test)
			}
		}
	}
	r.output = output.String()
	return r
}
