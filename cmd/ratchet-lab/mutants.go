package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/internal/lab/binary"
	"github.com/ratchet-pay/ratchet/internal/lab/mutant"
)

func mutantsCommand() *cobra.Command {
	var predicted string
	cmd := &cobra.Command{
		Use:   "mutants [exercise]",
		Short: "Remove one safeguard from Ratchet, and see what the bank says",
		Long: `Remove one safeguard from Ratchet, crash it, and see what the bank says.

Without an argument it lists the exercises. With one, it asks for your prediction,
compiles a Ratchet that lacks this safeguard, and runs it in the lab. No file of yours
changes. It needs the source: run it in a clone of the repository. No card is real,
and the lab has its own databases.`,
		Example: "  ratchet lab mutants\n  ratchet lab mutants derived-key\n  ratchet lab mutants timeout --predict 1",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listExercises(cmd.OutOrStdout())
			}
			e, known := mutant.Find(args[0])
			if !known {
				return fmt.Errorf("exercise %q not found: see `ratchet lab mutants`", args[0])
			}
			return exercise(cmd.Context(), e, cmd.InOrStdin(), cmd.OutOrStdout(), predicted)
		},
	}
	cmd.Flags().StringVar(&predicted, "predict", "", "your prediction, instead of the question")
	return cmd
}

func listExercises(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "EXERCISE\tREMOVES")
	for _, e := range mutant.Exercises {
		fmt.Fprintf(table, "%s\t%s\n", e.Name, e.Removes)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nTo do one: ratchet lab mutants %s\n", mutant.Exercises[0].Name)
	return err
}

// exercise asks for a prediction, and then runs Ratchet without the safeguard.
func exercise(ctx context.Context, e mutant.Exercise, in io.Reader, out io.Writer, predicted string) error {
	root, err := mutant.SourceTree(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n\n", e.Removes)
	for _, edit := range e.Edits {
		fmt.Fprintf(out, "%s\n%s%s\n", edit.File, marked("-", edit.Old), marked("+", edit.New))
	}
	fault, _ := lab.FindFault(e.Fault)
	fmt.Fprintf(out, "%s\n%s ", fault.Story, e.Asks)
	if predicted == "" {
		line, err := bufio.NewReader(in).ReadString('\n')
		if err != nil && line == "" {
			return fmt.Errorf("no prediction: type a number, or use --predict")
		}
		predicted = strings.TrimSpace(line)
	} else {
		fmt.Fprintln(out, predicted)
	}
	run, err := runMutant(ctx, e, root, out)
	if err != nil {
		return err
	}
	tell(out, run)
	fmt.Fprintf(out, "You predicted %s. %s\n\n%s\n", predicted, run.Title(), e.Why)
	return nil
}

// runMutant compiles Ratchet without the safeguard of an exercise and runs it in the lab.
func runMutant(ctx context.Context, e mutant.Exercise, root string, out io.Writer) (run lab.Run, err error) {
	dir, err := os.MkdirTemp("", "ratchet-mutant-")
	if err != nil {
		return run, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return run, err
	}
	fmt.Fprintln(out, "\nCompiling Ratchet without it: up to a minute.")
	program, err := e.Build(ctx, root, dir)
	if err != nil {
		return run, err
	}
	if err := os.Setenv(binary.RatchetVariable, program); err != nil {
		return run, err
	}
	ratchet, _ := lab.FindDesign("ratchet")
	fault, _ := lab.FindFault(e.Fault)
	mutated := lab.Case{Design: ratchet, Fault: fault}
	s, end, err := openRunner(ctx, []lab.Case{mutated}, false)
	if err != nil {
		return run, err
	}
	defer end()
	return s.Run(ctx, mutated, nil)
}

// marked puts a mark in front of each line.
func marked(mark, text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		b.WriteString("  " + mark + " " + line + "\n")
	}
	return b.String()
}
