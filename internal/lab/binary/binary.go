// Package binary finds the program ratchet-lab, or builds it. It is built when
// the lab is first used, and not with ratchet.
package binary

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	// Variable names the program, where it is built already.
	Variable = "RATCHET_LAB_PROGRAM"
	// RatchetVariable tells the lab which program ratchet to run.
	RatchetVariable = "RATCHET_PROGRAM"

	name    = "ratchet-lab"
	module  = "github.com/ratchet-pay/ratchet"
	command = module + "/cmd/" + name
)

// Find returns the program that the environment names, the one beside this
// program, the one in PATH, or else one that it builds from the source in the
// working directory. say reports that it builds.
func Find(ctx context.Context, say func(string)) (string, error) {
	if named := os.Getenv(Variable); named != "" {
		return named, nil
	}
	if self, err := os.Executable(); err == nil {
		if beside, err := exec.LookPath(filepath.Join(filepath.Dir(self), name)); err == nil {
			return beside, nil
		}
	}
	if found, err := exec.LookPath(name); err == nil {
		return found, nil
	}
	source, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", errors.New("the lab is a separate program, " + name + ", which is not installed: " +
			"run this in the source directory of Ratchet, where it can be built, or set " + Variable)
	}
	return build(ctx, strings.TrimSpace(string(source)), say)
}

// build compiles the program into the user's cache. If nothing has changed since
// the last time, that takes a moment.
func build(ctx context.Context, source string, say func(string)) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	built := filepath.Join(cache, "ratchet", name)
	say("Compiling the lab: some seconds the first time.")
	compile := exec.CommandContext(ctx, "go", "build", "-o", built, command)
	compile.Dir = source
	var complaints bytes.Buffer
	compile.Stdout, compile.Stderr = &complaints, &complaints
	if err := compile.Run(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", command, err, complaints.String())
	}
	return built, nil
}
