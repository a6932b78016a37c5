// Command bench measures what a charge costs: `make bench`. docs/performance.md
// says what each figure means and how to repeat it.
//
// Beside Ratchet runs the yardstick, in the same rounds and on the same PostgreSQL:
// the least SQL that charges a card exactly once (yardstick.sql). Compare ratios;
// absolute figures are the machine's.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/test/deployment"
)

// options are the flags.
type options struct {
	each     time.Duration
	clients  []int
	rounds   int
	only     []string
	overload bool

	serves, works int
}

func main() {
	o := options{}
	clients := flag.String("clients", "1,16,64", "how many clients at once; \"\" measures overload alone")
	only := flag.String("only", "", "which workloads beside the yardstick, such as charges,replays; \"\" is all")
	flag.DurationVar(&o.each, "each", 5*time.Second, "how long each workload runs in each round")
	flag.IntVar(&o.rounds, "rounds", 5, "how often everything is measured; medians count")
	flag.IntVar(&o.serves, "serves", 1, "how many processes serve the API; clients spread over them")
	flag.IntVar(&o.works, "works", 1, "how many workers")
	flag.BoolVar(&o.overload, "overload", true, "measure overload, too")
	flag.Parse()
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	var err error
	if o.clients, err = numbers(*clients); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func numbers(list string) (out []int, err error) {
	if list == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-clients takes numbers, such as 1,16,64")
		}
		out = append(out, n)
	}
	return out, nil
}

// bench is the deployment that everything is measured on.
type bench struct {
	*deployment.Deployment
	theirs       *pgxpool.Pool // of the acquirer's database
	yardstickURL string
	keys         []string // API keys, one per merchant
	made         chan charge
	dialed       atomic.Int64
}

const (
	merchants         = 64
	yardstickDatabase = "yardstick"
)

// Settings of both servers. A checkpoint in the middle of a round would make the
// next ones write whole pages, and settlements that come late would not be counted.
// The buffers are a usual share of a server's memory: with the 128 MB of an unconfigured
// server, sessions write other pages to disk before they find room, from the second round on.
// The acquirer reports every second: twice as often as it does by default, so that a
// round sees several reports of each merchant.
var (
	settings = []string{"checkpoint_timeout=1h", "max_wal_size=16GB", "shared_buffers=2GB"}
	env      = []string{"RATCHET_ACQUIRER_SETTLE_EVERY=1s"}
)

func start(ctx context.Context, o options) (b *bench, err error) {
	b = &bench{made: make(chan charge, refundsAtMost)}
	b.Deployment, err = deployment.Start(ctx,
		deployment.Options{Settings: settings, Env: env, Serves: o.serves, Works: o.works, ReuseWAL: true})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.stop()
		}
	}()
	if err := b.makeYardstick(ctx); err != nil {
		return b, err
	}
	for range merchants {
		_, key, err := b.OpenAccount(ctx, "Bench")
		if err != nil {
			return b, err
		}
		b.keys = append(b.keys, key)
	}
	if b.theirs, err = pgxpool.New(ctx, b.AcquirerURL); err != nil {
		return b, err
	}
	return b, b.Run(ctx)
}

func (b *bench) stop() {
	if b.theirs != nil {
		b.theirs.Close()
	}
	b.Stop()
}

func run(ctx context.Context, o options) error {
	b, err := start(ctx, o)
	if err != nil {
		return err
	}
	defer b.stop()
	workloads := b.workloads(o.only)
	var all []row
	for _, n := range o.clients {
		results := make([][]result, len(workloads)) // by workload, then round
		for round := range o.rounds {
			for i, w := range workloads {
				r, err := b.measure(ctx, o.each, n, w)
				if err != nil {
					return fmt.Errorf("%s, %d clients: %w", w.name, n, err)
				}
				results[i] = append(results[i], r)
				fmt.Fprintf(os.Stderr, "\r%d clients, round %d of %d: %-30s", n, round+1, o.rounds, w.name)
			}
		}
		fmt.Fprint(os.Stderr, "\r"+strings.Repeat(" ", 78)+"\r")
		for i, w := range workloads {
			all = append(all, summarize(n, w.name, results[i], results[0]))
		}
		printTable(os.Stdout, n, all[len(all)-len(workloads):])
	}
	fmt.Printf("\nresident memory of serve: %d MB\n", b.resident()>>20)
	if len(all) > 0 {
		printRaw(os.Stdout, all)
	}
	if !o.overload {
		return nil
	}
	if err := b.overload(ctx, o.each, o.rounds); err != nil {
		return fmt.Errorf("overload: %w", err)
	}
	return nil
}

func (b *bench) workloads(only []string) []workload {
	all := []workload{
		{name: "yardstick", client: b.yardstick, database: yardstickDatabase},
		{name: "charges", client: b.charges(b.keys), settles: true},
		{name: "hot merchant", client: b.charges(b.keys[:1]), settles: true},
		{name: "intents", client: b.intents, settles: true},
		{name: "refunds", client: b.refunds, prepare: b.makeCharges},
		{name: "customers", client: b.customers},
		{name: "replays", client: b.replays},
	}
	if only == nil {
		return all
	}
	return slices.DeleteFunc(all, func(w workload) bool {
		return w.name != "yardstick" && !slices.Contains(only, w.name)
	})
}
