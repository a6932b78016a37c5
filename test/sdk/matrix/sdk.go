package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// sdk is one version of Stripe's SDK in one language.
type sdk struct {
	language string // go, node, python, ruby, php
	version  string
	from     string // where it comes from, for the table
	dir      string // of a checkout
}

// Of each major version that is still in use, the last release. The first of a list
// are as old as the shapes that API versions have kept.
var (
	goVersions   = []string{"72.122.0", "74.30.0", "76.25.0", "78.12.0", "80.2.1", "82.5.1", "84.4.1", "85.0.0"}
	nodeVersions = []string{"8.222.0", "10.17.0", "12.18.0", "14.25.0", "16.12.0", "18.5.0", "20.4.1", "22.6.2",
		"23.1.0"}
)

// amongFew says whether an SDK is one of the few that every test run can afford: the
// oldest, one from the middle and the newest of Go's and Node's, and the one that the
// system has.
func (s sdk) amongFew() bool {
	switch s.language {
	case "go":
		return fewOf(goVersions, s.version)
	case "node":
		return fewOf(nodeVersions, s.version)
	}
	return s.language == "python" && s.dir == ""
}

func fewOf(versions []string, version string) bool {
	last := len(versions) - 1
	return version == versions[0] || version == versions[last/2] || version == versions[last]
}

// few are the clients of -few. What one of them needs and the machine lacks is an
// error, because a test that left the client out would pass without it.
func few(all []sdk) ([]sdk, error) {
	if _, err := exec.LookPath("npm"); err != nil {
		return nil, errors.New("needs Node with npm: apt-get install nodejs npm, or https://nodejs.org")
	}
	chosen := slices.DeleteFunc(all, func(s sdk) bool { return !s.amongFew() })
	if !slices.ContainsFunc(chosen, func(s sdk) bool { return s.language == "python" }) {
		return nil, errors.New("needs stripe-python for " + systemPython +
			": apt-get install python3-stripe, or " + systemPython + " -m pip install stripe")
	}
	return chosen, nil
}

// registries are the SDKs that Go's module proxy and npm's registry have.
func registries() (all []sdk) {
	for _, v := range goVersions {
		all = append(all, sdk{language: "go", version: v, from: "Go module proxy"})
	}
	for _, v := range nodeVersions {
		all = append(all, sdk{language: "node", version: v, from: "npm registry"})
	}
	return all
}

// systemPython is the interpreter that a distribution's packages are for.
const systemPython = "/usr/bin/python3"

// distribution is the SDK that is installed as a package of the system, if one is.
func distribution() []sdk {
	const show = "import stripe; print(getattr(stripe, 'VERSION', None) or stripe.version.VERSION)"
	version, err := exec.Command(systemPython, "-c", show).Output()
	if err != nil {
		return nil
	}
	return []sdk{{language: "python", version: strings.TrimSpace(string(version)), from: "package python3-stripe"}}
}

// entrances are the files by which a checkout is recognized as one of an SDK.
var entrances = map[string]string{"python": "stripe/__init__.py", "ruby": "lib/stripe.rb", "php": "init.php"}

// checkouts are the SDKs in a folder's folders.
func checkouts(dir string) (all []sdk, err error) {
	if dir == "" {
		return nil, nil
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	for _, language := range []string{"python", "ruby", "php"} {
		found, err := filepath.Glob(filepath.Join(dir, "*", entrances[language]))
		if err != nil {
			return nil, err
		}
		var of []sdk
		for _, entrance := range found {
			root := strings.TrimSuffix(entrance, entrances[language])
			version, err := os.ReadFile(filepath.Join(root, "VERSION"))
			if err != nil {
				return nil, err
			}
			of = append(of, sdk{
				language: language,
				version:  strings.TrimSpace(string(version)),
				from:     fromCheckout,
				dir:      filepath.Clean(root),
			})
		}
		slices.SortFunc(of, func(a, b sdk) int { return compareVersions(a.version, b.version) })
		all = append(all, of...)
	}
	return all, nil
}

// compareVersions orders by number: 8.11.0 is before 13.2.0.
func compareVersions(a, b string) int {
	numbers := func(v string) (n [3]int) {
		_, _ = fmt.Sscanf(v, "%d.%d.%d", &n[0], &n[1], &n[2]) // what does not fit counts as 0
		return n
	}
	x, y := numbers(a), numbers(b)
	return slices.Compare(x[:], y[:])
}

func (s sdk) major() string {
	major, _, _ := strings.Cut(s.version, ".")
	return major
}

//go:embed clients
var programs embed.FS

// runner installs SDKs below its own folder, and runs the clients' programs.
type runner struct {
	dir string
	env []string
}

// run asks an SDK to do everything, and returns what it said.
func (r runner) run(ctx context.Context, s sdk) result {
	done := result{sdk: s}
	command, err := r.prepare(ctx, s)
	if err != nil {
		done.broken = err
		return done
	}
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	done.read(string(out))
	if err != nil || len(done.operations) == 0 {
		done.broken = fmt.Errorf("%w: %s", err, lastLine(stderr.String()))
	}
	return done
}

// prepare installs an SDK and returns the command that uses it.
func (r runner) prepare(ctx context.Context, s sdk) (*exec.Cmd, error) {
	dir := filepath.Join(r.dir, s.language+"-"+s.version)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	switch s.language {
	case "go":
		return r.prepareGo(ctx, s, dir)
	case "node":
		return r.prepareNode(ctx, s, dir)
	case "python":
		return r.script(ctx, dir, "client.py", "PYTHONPATH="+s.dir+":"+os.Getenv("PYTHONPATH"), systemPython)
	case "ruby":
		return r.script(ctx, dir, "client.rb", "RUBYLIB="+filepath.Join(s.dir, "lib"), "ruby", "-W0")
	case "php":
		return r.script(ctx, dir, "client.php", "RATCHET_SDK="+s.dir, "php")
	}
	return nil, fmt.Errorf("there is no program in %s", s.language)
}

func (r runner) prepareGo(ctx context.Context, s sdk, dir string) (*exec.Cmd, error) {
	source, err := programs.ReadFile("clients/client.go.txt")
	if err != nil {
		return nil, err
	}
	module := "github.com/stripe/stripe-go/v" + s.major()
	files := map[string]string{
		"main.go": strings.ReplaceAll(string(source), "MAJOR", "v"+s.major()),
		"go.mod":  fmt.Sprintf("module client\n\ngo 1.26\n\nrequire %s v%s\n", module, s.version),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	if err := r.quietly(ctx, dir, "go", "build", "-mod=mod", "-o", "client", "."); err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, filepath.Join(dir, "client"))
	command.Env = r.env
	return command, nil
}

func (r runner) prepareNode(ctx context.Context, s sdk, dir string) (*exec.Cmd, error) {
	err := r.quietly(ctx, dir, "npm", "install", "--no-audit", "--no-fund", "--prefix", dir, "stripe@"+s.version)
	if err != nil {
		return nil, err
	}
	return r.script(ctx, dir, "client.js", "NODE_NO_WARNINGS=1", "node")
}

// script writes a program into a folder and returns the command that runs it there.
func (r runner) script(ctx context.Context, dir, name, env string, interpreter ...string) (*exec.Cmd, error) {
	source, err := programs.ReadFile("clients/" + name)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, name), source, 0o644); err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, interpreter[0], append(interpreter[1:], filepath.Join(dir, name))...)
	command.Dir, command.Env = dir, append(slices.Clip(r.env), env)
	return command, nil
}

func (r runner) quietly(ctx context.Context, dir, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Env = dir, append(slices.Clip(r.env), "GOFLAGS=", "GOWORK=off")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, args[0], err, lastLine(string(out)))
	}
	return nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
