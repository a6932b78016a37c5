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
	onlyFew := flag.Bool("few", false, "run the few clients of Go, Node and the system's Python that differ most")
	table := flag.String("table", "", "the file to write the table to")
	cli := flag.String("cli", "", "a log of the tests of the Stripe CLI: write its results to the table, and end")
	flag.Parse()
	if *cli != "" {
		return writeCLI(*cli, *table)
	}

	clients, err := choose(*dir, *only)
	if err == nil && *onlyFew {
		clients, err = few(clients)
	}
	if err != nil {
		return err
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
	r := runner{dir: work,
		env: append(os.Environ(), "RATCHET_URL="+*url, "RATCHET_KEY="+*key, "RATCHET_HOOK="+hooks.url)}
	var results []result
	for _, c := range clients {
		done := r.run(ctx, c)
		fmt.Println(done)
		results = append(results, done)
	}
	if *table != "" {
		if err := writeTable(*table, results, *dir == ""); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(results, func(r result) bool { return !r.passed() }) {
		return errors.New("not all operations passed")
	}
	return nil
}

// writeTable writes the results to the file, and leaves its other sections unchanged. With keep it also keeps the rows
// of clients that were not run.
func writeTable(path string, results []result, keep bool) error {
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	document := page(results)
	if keep {
		document += rowsNotRun(string(before), results)
	}
	return os.WriteFile(path, []byte(document+otherSections(string(before))), 0o644)
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
