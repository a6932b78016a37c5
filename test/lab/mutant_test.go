//go:build unix

package lab_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/internal/lab/mutant"
	"github.com/ratchet-pay/ratchet/internal/lab/runner"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// TestMutant does each exercise: it removes the safeguard from Ratchet, runs the fault, and asks
// the bank and our books. They have to say what the exercise says they do.
func TestMutant(t *testing.T) {
	t.Parallel()
	programs := build(t, "ratchet-lab")  // its ratchet is the mutant
	for _, e := range mutant.Exercises { // one after the other: each compiles a Ratchet
		t.Run(e.Name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("it compiles a Ratchet: run it without -short")
			}
			run := runExercise(t, programs, e)
			if run.Charged != e.Charged || run.Booked != e.Booked {
				t.Errorf("%s The exercise says %d and %d.\n%s", run.Title(), e.Booked, e.Charged, story(run))
			}
		})
	}

	t.Run("where the source is missing, the command says so", func(t *testing.T) {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "ratchet-lab"), "mutants", "derived-key",
			"--predict", "1")
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "run this in a clone of the repository, with Go installed") {
			t.Errorf("it says %q, %v", out, err)
		}
	})

	t.Run("each exercise is a fault of the lab, and is listed", func(t *testing.T) {
		t.Parallel()
		out, err := exec.CommandContext(t.Context(), filepath.Join(programs, "ratchet-lab"), "mutants").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, e := range mutant.Exercises {
			if _, known := lab.FindFault(e.Fault); !known || !strings.Contains(string(out), e.Name) {
				t.Errorf("%s: fault %q, listed in\n%s", e.Name, e.Fault, out)
			}
		}
	})
}

// runExercise compiles Ratchet without the safeguard of an exercise and runs its fault.
func runExercise(t *testing.T, programs string, e mutant.Exercise) lab.Run {
	t.Helper()
	root, err := mutant.SourceTree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	program, err := e.Build(t.Context(), root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := runner.Open(t.Context(), runner.Config{Ratchet: program, Lab: filepath.Join(programs, "ratchet-lab"),
		DatabaseURL: pgtest.New(t).URL, StandIn: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ratchet, _ := lab.FindDesign("ratchet")
	fault, _ := lab.FindFault(e.Fault)
	run, err := s.Run(t.Context(), lab.Case{Design: ratchet, Fault: fault}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return run
}
