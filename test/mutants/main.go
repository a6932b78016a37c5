// Command mutants breaks the engine on purpose, one fault at a time, and checks
// that a test notices.
//
//	go run ./test/mutants             all faults
//	go run ./test/mutants -run fence  those whose name matches
//	go run ./test/mutants -v          with what the failing tests say
//	go run ./test/mutants -against './test/model TestWalk'
//	                                  what another test notices of them
//
// A fault is a few exact replacements in the source (faults.go). The files on
// disk stay as they are: the compiler is given the broken ones as an overlay,
// embedded migrations included. A fault that no test catches is a promise that
// no test checks; a replacement that no longer fits the source is reported as an
// error, so that the list cannot rot. It exits with 1 if a fault survives, cannot
// be made, or if the tests fail without any fault.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

func main() {
	wanted := flag.String("run", "", "a regular expression of the faults to make")
	verbose := flag.Bool("v", false, "print what the failing tests say")
	against := flag.String("against", "", "a package and a test to run instead of each fault's own")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *wanted, *against, *verbose); err != nil {
		fmt.Fprintf(os.Stderr, "mutants: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, wanted, against string, verbose bool) error {
	matches, err := regexp.Compile(wanted)
	if err != nil {
		return err
	}
	chosen := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return !matches.MatchString(f.name) })
	if len(chosen) == 0 {
		return fmt.Errorf("no fault is called %q", wanted)
	}
	if pkg, test, given := strings.Cut(against, " "); given {
		for i := range chosen {
			chosen[i].pkg, chosen[i].test = pkg, test
		}
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	// One server for all runs; every one of them has its own databases on it.
	server, err := pgtest.StartServer(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = server.Stop() }()
	run := &runner{root: root, verbose: verbose, env: append(os.Environ(), pgtest.Environ(server)...)}
	if run.dir, err = os.MkdirTemp("", "ratchet-mutants-"); err != nil {
		return err
	}
	defer os.RemoveAll(run.dir)
	return run.examine(ctx, chosen)
}

// examine runs the tests without a fault and then with each of them.
func (run *runner) examine(ctx context.Context, chosen []fault) error {
	began := time.Now()
	if err := run.baseline(ctx, chosen); err != nil {
		return err
	}
	fmt.Printf("ok        %6.1fs  without a fault all of these tests pass\n", time.Since(began).Seconds())
	failures := 0
	for n, f := range chosen {
		began := time.Now()
		found, err := run.try(ctx, n, f)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		took := time.Since(began).Seconds()
		switch {
		case err != nil:
			failures++
			fmt.Printf("BROKEN    %6.1fs  %s\n                   %v\n", took, f.name, err)
		case len(found.failed) == 0:
			failures++
			fmt.Printf("SURVIVED  %6.1fs  %s\n                   %s %s passes\n", took, f.name, f.pkg, f.test)
		default:
			fmt.Printf("caught    %6.1fs  %s\n                   %s: %s\n", took, f.name, f.pkg, found.failed[0])
			if run.verbose {
				fmt.Println(found.output)
			}
		}
	}
	fmt.Printf("%d of %d faults caught in %s\n", len(chosen)-failures, len(chosen),
		time.Since(began).Round(time.Second))
	if failures > 0 {
		return errors.New("some faults were not caught")
	}
	return nil
}
