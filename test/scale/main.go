// Command scale shows how an installation behaves as its data grows: `make scale`.
//
// It lives one merchant's day through the API, copies that day until there are as
// many charges as asked for, and proves with verify that the result is consistent.
// Then it plans every statement of the program on real statistics: but for verify,
// no statement may read a table that grows from end to end. It also prints how long
// pages, rounds and jobs take; those figures are the machine's, and decide nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

var listStatements, onlyPlans, keepRunning bool

func main() {
	charges := flag.Int("n", 100_000, "how many charges the larger installation has")
	small := flag.Int("small", 10_000, "how many the smaller one has; 0 leaves it out")
	accounts := flag.Int("accounts", 1000, "over how many accounts they are spread, beside one; 0 leaves that out")
	flag.BoolVar(&listStatements, "statements", false,
		"list the ten slowest statements; the server needs the extension pg_stat_statements")
	flag.BoolVar(&onlyPlans, "plans", false, "print no times but that of verify")
	flag.BoolVar(&keepRunning, "keep", false,
		"measure nothing: print the environment of the first installation, and keep it until an interrupt")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var sizes []size
	for _, n := range []int{*small, *charges} {
		if n > 0 {
			sizes = append(sizes, size{n, 1})
		}
		if n > 0 && *accounts > 1 {
			sizes = append(sizes, size{n, *accounts})
		}
	}
	offenses := 0
	for _, s := range sizes {
		n, err := measure(ctx, s)
		if err != nil {
			fmt.Fprintln(os.Stderr, "scale:", err)
			os.Exit(1)
		}
		offenses += n
	}
	if offenses > 0 {
		fmt.Fprintf(os.Stderr, "scale: %d plans read a large part of a table that grows\n", offenses)
		os.Exit(1)
	}
}

// measure prints everything about an installation of a size, and returns how many
// plans read too much in it.
func measure(ctx context.Context, s size) (offenses int, err error) {
	began := time.Now()
	i, err := install(ctx, s)
	if err != nil {
		return 0, err
	}
	defer i.Stop()
	fmt.Printf("\n%s: installed in %s\n", s, time.Since(began).Round(time.Second))
	if keepRunning {
		return 0, i.keep(ctx)
	}
	if err := i.verify(ctx); err != nil {
		return 0, err
	}
	if offenses, err = i.checkPlans(ctx); err != nil || onlyPlans {
		return offenses, err
	}
	return offenses, i.times(ctx)
}

// checkPlans prints the statements and functions that read too much, and returns
// how many there are.
func (i *installation) checkPlans(ctx context.Context) (int, error) {
	found, planned, err := i.offenses(ctx)
	if err != nil {
		return 0, err
	}
	fmt.Printf("%d statements planned; these read a large part of a table that grows:\n", planned)
	for _, o := range found {
		if o.Filter == "" {
			fmt.Printf("  %-75s %6.2f of %-22s %-45s %s\n", o.Statement, o.Share, o.Table, o.Node, o.Variant)
		}
	}
	fmt.Println("these do if few rows pass a filter:")
	for _, o := range found {
		if o.Filter != "" {
			fmt.Printf("  %-75s %6.2f of %-22s %-45s %s\n      %s\n", o.Statement, o.Share, o.Table, o.Node, o.Variant,
				o.Filter)
		}
	}
	fmt.Println("functions of the schema that read many rows:")
	functions, err := i.functions(ctx)
	if err != nil {
		return 0, err
	}
	for _, f := range functions {
		fmt.Println("  " + f)
	}
	return len(found) + len(functions), nil
}

// keep prints the environment of commands such as `ratchet verify`, so that they can be run on the installation again
// and again, and waits for an interrupt.
func (i *installation) keep(ctx context.Context) error {
	for _, variable := range i.Environ() {
		fmt.Printf("export '%s'\n", variable)
	}
	<-ctx.Done()
	return ctx.Err()
}
