package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/lab/binary"
)

// labCommand hands everything behind it over to the lab's own program.
func labCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "lab",
		Short: "Crash common payment designs and count what the bank charged",
		Long: `Crash common payment designs and count what the bank charged.

The lab is a separate program, ratchet-lab, which is built on first use.
List its commands with: ratchet lab help`,
		Example:            "  ratchet lab run --at answer-not-recorded --design all\n  ratchet lab matrix",
		DisableFlagParsing: true, // they are the lab's
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := binary.Find(cmd.Context(), func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) })
			if err != nil {
				return err
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			lab := exec.CommandContext(cmd.Context(), found, args...)
			lab.Cancel = func() error { return lab.Process.Signal(os.Interrupt) } // it ends what it has started
			lab.Stdin, lab.Stdout, lab.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			lab.Env = append(os.Environ(), binary.RatchetVariable+"="+self)
			err = lab.Run()
			var ended *exec.ExitError
			if errors.As(err, &ended) {
				return &exitCode{code: exitFailed} // it has said why
			}
			return err
		},
	}
}
