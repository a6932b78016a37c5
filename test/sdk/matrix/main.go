// Command matrix runs Stripe's SDKs, many versions of them in five languages,
// against an installation of Ratchet, and writes what became of it.
//
//	go run ./test/sdk/matrix -binary bin/ratchet -table docs/compatibility.md
//
// Each SDK is asked to do the same twenty-odd things, by a small program in its own
// language (clients/). The SDKs are unchanged; only the address is ours. Go's and
// Node's come from their registries, Python's from the distribution, and -dir adds
// checkouts: of Python, Ruby and PHP, whose registries this program does not ask.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	binary := flag.String("binary", "", "the ratchet program, of which a demo is started")
	url := flag.String("url", "", "the address of an installation that runs already")
	key := flag.String("key", demoKey, "the secret key to use there")
	dir := flag.String("dir", "", "a folder with checkouts of SDKs, each with its VERSION file")
	only := flag.String("only", "",
		"the clients to run, as language@version, separated by commas; all of them by default")
	few := flag.Bool("few", false, "run the few clients that differ most, of the languages that are installed")
	table := flag.String("table", "", "the file to write the table to")
	cli := flag.String("cli", "", "a log of the tests of the Stripe CLI: write its results to the table, and end")
	flag.Parse()
	if *cli != "" {
		return writeCLI(*cli, *table)
	}

	clients, err := choose(*dir, *only)
	if err != nil {
		return err
	}
	if *few {
		clients = slices.DeleteFunc(clients, func(c sdk) bool { return !c.amongFew() || !c.canRun() })
	}
	if *url == "" {
		demo, err := startDemo(ctx, *binary)
		if err != nil {
			return err
		}
		defer demo.stop()
		*url = demo.url
	}
	hooks, err := listen()
	if err != nil {
		return err
	}
	defer hooks.close()

	work, err := os.MkdirTemp("", "ratchet-matrix-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r := runner{
		dir: work,
		env: append(os.Environ(), "RATCHET_URL="+*url, "RATCHET_KEY="+*key, "RATCHET_HOOK="+hooks.url),
	}
	var results []result
	failed := false
	for _, c := range clients {
		done := r.run(ctx, c)
		fmt.Println(done)
		failed = failed || !done.passed()
		results = append(results, done)
	}
	if *table != "" {
		before, err := os.ReadFile(*table)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		document := page(results)
		if *dir == "" {
			document += rowsNotRun(string(before), results)
		}
		if err := os.WriteFile(*table, []byte(document+otherSections(string(before))), 0o644); err != nil {
			return err
		}
	}
	if failed {
		return errors.New("not all operations passed")
	}
	return nil
}

// choose lists the clients to run: all that the registries have and that are in dir,
// or of those the ones that are named.
func choose(dir, only string) ([]sdk, error) {
	all := append(registries(), distribution()...)
	checkouts, err := checkouts(dir)
	if err != nil {
		return nil, err
	}
	all = append(all, checkouts...)
	if only == "" {
		return all, nil
	}
	var chosen []sdk
	for name := range strings.SplitSeq(only, ",") {
		found := false
		for _, c := range all {
			if c.language+"@"+c.version == name {
				chosen, found = append(chosen, c), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no client %s", name)
		}
	}
	return chosen, nil
}
