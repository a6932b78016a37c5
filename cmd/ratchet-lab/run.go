package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/internal/lab/binary"
	"github.com/ratchet-pay/ratchet/internal/lab/page"
	"github.com/ratchet-pay/ratchet/internal/lab/runner"
	"github.com/ratchet-pay/ratchet/internal/postgres/local"
)

// openRunner finds a database server and the programs, and opens the lab on them for these runs.
// The returned func closes everything.
func openRunner(ctx context.Context, cases []lab.Case, standIn bool) (*runner.Runner, func(), error) {
	config := runner.Config{RedisURL: os.Getenv("REDIS_URL"), NATSURL: os.Getenv("NATS_URL"), StandIn: standIn}
	if err := config.Check(ctx, cases); err != nil {
		return nil, nil, err
	}
	ratchet, err := ratchetProgram()
	if err != nil {
		return nil, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "ratchet-lab-postgres-")
	if err != nil {
		return nil, nil, err
	}
	// PostgreSQL does not run as root: its own user has to enter
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, nil, err
	}
	server, err := local.Start(ctx, local.Options{URL: os.Getenv("DATABASE_URL"), StateDir: dir, Ephemeral: true})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	stop := func() {
		_ = server.Stop() // its data is thrown away in any case
		_ = os.RemoveAll(dir)
	}
	config.Ratchet, config.Lab, config.DatabaseURL = ratchet, self, server.URL
	s, err := runner.Open(ctx, config)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return s, func() { s.Close(); stop() }, nil
}

// ratchetProgram is the program that the environment names, the one beside this
// one, or the one that PATH leads to.
func ratchetProgram() (string, error) {
	if named := os.Getenv(binary.RatchetVariable); named != "" {
		return named, nil
	}
	if self, err := os.Executable(); err == nil {
		if beside, err := exec.LookPath(filepath.Join(filepath.Dir(self), "ratchet")); err == nil {
			return beside, nil
		}
	}
	found, err := exec.LookPath("ratchet")
	if err != nil {
		return "", fmt.Errorf("program ratchet not found: run the lab as `ratchet lab`, or set %s",
			binary.RatchetVariable)
	}
	return found, nil
}

// chosenDesigns are designs by their names, separated by commas; "all" is all of them.
func chosenDesigns(names string) (designs []lab.Design, err error) {
	if names == "all" {
		return lab.Designs, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		d, known := lab.FindDesign(name)
		if !known {
			return nil, fmt.Errorf("design %q not found: see `ratchet lab list`", name)
		}
		designs = append(designs, d)
	}
	return designs, nil
}

func chosenFaults(names string) (faults []lab.Fault, err error) {
	if names == "all" {
		return lab.Faults, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		f, known := lab.FindFault(name)
		if !known {
			return nil, fmt.Errorf("fault %q not found: see `ratchet lab list`", name)
		}
		faults = append(faults, f)
	}
	return faults, nil
}

func runCommand() *cobra.Command {
	var at, designs, retries, lock, store string
	var asJSON, standIn bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run designs under one fault",
		Example: "  ratchet lab run --at 'acquirer: answer read' --design naive,ratchet\n  ratchet lab run --at " +
			"slow-bank --design all --json\n  ratchet lab run --at slow-bank --design redis-1s --lock 5 --retries both",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cases, err := chosenCases(designs, at, retries, lock, store)
			if err != nil {
				return err
			}
			s, end, err := openRunner(cmd.Context(), cases, standIn)
			if err != nil {
				return err
			}
			defer end()
			out := cmd.OutOrStdout()
			var runs []lab.Run
			err = s.RunAll(cmd.Context(), cases, runner.AtOnce, func(r lab.Run) {
				runs = append(runs, r)
				if asJSON {
					_ = r.Write(out) // a reader that has gone wants nothing more
					return
				}
				tell(out, r)
			})
			if err != nil || asJSON || len(runs) == 1 {
				return err
			}
			return summarize(out, cases, runs)
		},
	}
	cmd.Flags().StringVar(&at, "at", "answer-not-recorded",
		"the fault, or the I/O boundary at which the process is killed")
	cmd.Flags().StringVar(&designs, "design", "all", "names of designs, separated by commas, or all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print runs and their events as JSON lines")
	cmd.Flags().BoolVar(&standIn, "stand-in", false, "use the stand-in for Redis even if a real one is available")
	cmd.Flags().StringVar(&retries, "retries", "client",
		"what repeats a request that was not answered: client, worker (a background job; of Ratchet, its own worker), "+
			"or both")
	cmd.Flags().StringVar(&lock, "lock", "", "life of the lock in Redis, in seconds; by default the design's")
	cmd.Flags().StringVar(&store, "store", "",
		"when the designs on Redis send the answer: awaited (it is stored) or answer-first; by default the design's")
	return cmd
}

// chosenCases are the runs that the flags ask for.
func chosenCases(designs, at, retries, lock, store string) ([]lab.Case, error) {
	ds, err := chosenDesigns(designs)
	if err != nil {
		return nil, err
	}
	fs, err := chosenFaults(at)
	if err != nil {
		return nil, err
	}
	settings, err := lab.ParseSettings(retries, lock, store)
	if err != nil {
		return nil, err
	}
	cases := lab.Cases(ds, fs, settings)
	if len(cases) == 0 {
		return nil, fmt.Errorf("fault %s does not strike %s: see `ratchet lab list`", at, designs)
	}
	return cases, nil
}

// summarize prints what each run came to, in the order in which they were asked for. They end in another order, and
// their stories are long.
func summarize(out io.Writer, cases []lab.Case, runs lab.Matrix) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "DESIGN\tFAULT\tCHARGED\tBOOKED\tVERDICT")
	for _, c := range cases {
		if r, is := runs.Find(c.Design.Name, c.Fault.Name); is {
			fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\n", r.Design, r.Fault, r.Charged, r.Booked, r.Meaning())
		}
	}
	return table.Flush()
}

// tell prints a run for people.
func tell(out io.Writer, r lab.Run) {
	d, _ := lab.FindDesign(r.Design)
	f, _ := lab.FindFault(r.Fault)
	switches := ""
	if words := r.Words(); len(words) > 0 {
		switches = " (" + strings.Join(words, ", ") + ")"
	}
	fmt.Fprintf(out, "%s%s: %s\n", d.Title, switches, f.Story)
	for _, e := range r.Events {
		fmt.Fprintf(out, "  %6.3f s  %s\n", float64(e.US)/1e6, r.Sentence(e))
	}
	fmt.Fprintln(out)
}

func matrixCommand() *cobra.Command {
	var asJSON, standIn bool
	var atOnce int
	var designs, record string
	cmd := &cobra.Command{
		Use:   "matrix",
		Short: "Run every design under every fault",
		Long: `Run every design under every fault, and print a table: c counts the charges on the
card, from the acquirer's journal, and r the charges that the design has booked.`,
		Example: "  ratchet lab matrix",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ds, err := chosenDesigns(designs)
			if err != nil {
				return err
			}
			if atOnce < 1 {
				return fmt.Errorf("--at-once is at least 1, not %d", atOnce)
			}
			cases := lab.Cases(ds, lab.Faults, lab.Settings{})
			s, end, err := openRunner(cmd.Context(), cases, standIn)
			if err != nil {
				return err
			}
			defer end()
			out := cmd.OutOrStdout()
			var runs lab.Matrix
			began := time.Now()
			count := countRuns(len(cases))
			err = s.RunAll(cmd.Context(), cases, atOnce, func(r lab.Run) {
				runs = append(runs, r)
				count(len(runs))
				if asJSON {
					_ = r.Write(out)
				}
			})
			if err != nil {
				return err
			}
			took := time.Since(began)
			if record != "" {
				if err := runs.Record(record); err != nil {
					return err
				}
			}
			if asJSON {
				return nil
			}
			return printMatrix(out, runs, ds, took)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print runs and their events as JSON lines")
	cmd.Flags().BoolVar(&standIn, "stand-in", false, "use the stand-in for Redis even if a real one is available")
	cmd.Flags().IntVar(&atOnce, "at-once", runner.AtOnce, "number of concurrent runs; each mostly waits")
	cmd.Flags().StringVar(&designs, "design", "all", "names of designs, separated by commas, or all")
	cmd.Flags().StringVar(&record, "record", "", "directory for the runs, one file per design")
	return cmd
}

// countRuns returns a func that says on a terminal how many runs are done.
func countRuns(of int) func(done int) {
	info, err := os.Stderr.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func(int) {}
	}
	return func(done int) {
		fmt.Fprintf(os.Stderr, "\r%d of %d runs", done, of)
		if done == of {
			fmt.Fprint(os.Stderr, "\r\033[K") // the table takes its place
		}
	}
}

// printMatrix prints a table of the designs that answer requests, and one of those that
// consume a queue.
func printMatrix(out io.Writer, runs lab.Matrix, designs []lab.Design, took time.Duration) error {
	for _, queue := range []bool{false, true} {
		own := slices.DeleteFunc(slices.Clone(designs), func(d lab.Design) bool { return d.Queue != queue })
		if len(own) == 0 {
			continue
		}
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprint(table, "FAULT")
		for _, d := range own {
			fmt.Fprint(table, "\t"+d.Name)
		}
		fmt.Fprintln(table)
		for _, f := range lab.Faults {
			if f.Queue != queue {
				continue
			}
			fmt.Fprint(table, f.Name)
			for _, d := range own {
				cell := "-"
				if r, is := runs.Find(d.Name, f.Name); is {
					cell = r.Cell()
				}
				fmt.Fprint(table, "\t"+cell)
			}
			fmt.Fprintln(table)
		}
		fmt.Fprintln(table)
		if err := table.Flush(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%d runs took %.1f s.\n", len(runs), took.Seconds())
	return err
}

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List designs and faults",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "DESIGN\tIDEA")
			for _, d := range lab.Designs {
				fmt.Fprintf(table, "%s\t%s\n", d.Name, d.Idea)
			}
			fmt.Fprintln(table, "\nFAULT\tWHAT HAPPENS")
			for _, f := range lab.Faults {
				fmt.Fprintf(table, "%s\t%s\n", f.Name, f.Story)
			}
			return table.Flush()
		},
	}
}

func siteCommand() *cobra.Command {
	var out, base string
	cmd := &cobra.Command{
		Use:   "site",
		Short: "Write the lab's pages as static files",
		Long: `Write the lab's pages as static files: the stops, the matrix and all recorded runs.
Any web server can host them, under any URL. Other sites show a picture beside a link
only if --url says where they are published: they take no address without a host.`,
		Example: "  ratchet lab site --out bin/lab-site --url https://example.github.io/lab/",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if base != "" && !strings.HasSuffix(base, "/") {
				base += "/"
			}
			return page.Export(out, base)
		},
	}
	cmd.Flags().StringVar(&out, "out", "lab-site", "output directory")
	cmd.Flags().StringVar(&base, "url", "", "where the pages are published, for the picture beside a link")
	return cmd
}
