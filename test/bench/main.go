// Command bench measures what Ratchet does and what the same Postgres, in the
// same run, would do at most: `make bench`.
//
// Everything stands on one machine: Postgres with its ordinary durability (a
// commit waits for the disk), the acquirer with a database of its own, the API,
// the worker, and the clients. The ceiling is the bare minimum of SQL for a
// charge, its two transactions pipelined by clients that do nothing else: no
// HTTP, no JSON, no acquirer, no checks. Compare ratios; absolute figures are
// the machine's.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	seconds := flag.Float64("seconds", 3, "how long each figure is measured")
	clients := flag.String("clients", "1,16,64", "how many clients at once; \"\" measures overload alone")
	rounds := flag.Int("rounds", 3, "how often everything is measured; the median counts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, time.Duration(*seconds*float64(time.Second)), numbers(*clients), *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func numbers(list string) []int {
	var out []int
	if list == "" {
		return nil
	}
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			fmt.Fprintln(os.Stderr, "bench: -clients takes numbers, such as 1,16,64")
			os.Exit(2)
		}
		out = append(out, n)
	}
	return out
}

func run(ctx context.Context, each time.Duration, clients []int, rounds int) error {
	b, err := start(ctx)
	if err != nil {
		return err
	}
	defer b.stop()
	workloads := []struct {
		name string
		job  func(n int) worker
	}{
		{"ceiling: two transactions, SQL only", b.ceiling},
		{"charges, spread over merchants", b.charges(b.keys)},
		{"charges, one hot merchant", b.charges(b.keys[:1])},
		{"intents, created and paid", b.intents},
		{"customers", b.customers},
		{"replays", b.replays},
	}
	for _, n := range clients {
		fmt.Printf("\n%d clients\n%-38s %10s %9s %9s %9s %9s\n", n, "", "per second", "p50 ms", "p95 ms", "p99 ms", "ceiling")
		rates := map[string]float64{}
		for _, w := range workloads {
			var all []result
			for range rounds {
				r, err := b.measure(ctx, each, n, w.job)
				if err != nil {
					return fmt.Errorf("%s: %w", w.name, err)
				}
				all = append(all, r)
			}
			slices.SortFunc(all, func(a, b result) int { return cmp.Compare(a.rate, b.rate) })
			r := all[len(all)/2]
			rates[w.name] = r.rate
			fmt.Printf("%-38s %10.0f %9.2f %9.2f %9.2f %9.2f\n", w.name, r.rate, r.p50, r.p95, r.p99, r.rate/rates[workloads[0].name])
			fmt.Printf("%40s%s\n", "µs of CPU each: ", r.cpu)
		}
		fmt.Printf("hot merchant against spread: %.2f; replays against charges: %.1f\n",
			rates[workloads[2].name]/rates[workloads[1].name], rates[workloads[5].name]/rates[workloads[1].name])
	}
	if err := b.overload(ctx, each, rounds); err != nil {
		return fmt.Errorf("overload: %w", err)
	}
	fmt.Printf("\nresident memory of serve: %d MB\n", b.resident()>>20)
	return nil
}
