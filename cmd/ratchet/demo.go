package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/demo"
)

// addrOnLAN is where the demo listens when it is told --lan and nothing else.
const addrOnLAN = "0.0.0.0:8080"

func demoCommand() *cobra.Command {
	c := demo.Config{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run everything on this machine, with nothing to set up",
		Long: `Run everything on this machine, with nothing to set up: PostgreSQL, the API, the
worker and an acquirer for test cards, each a process of its own that is started
again when it dies. Ctrl-C stops all of them; the data stays for the next time.

PostgreSQL is the one that DATABASE_URL names, or one that is installed here, or
downloaded: the first of these that can be had.`,
		Example: "  ratchet demo\n  ratchet demo --addr 127.0.0.1:9000 --data-dir /tmp/ratchet --fresh",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := ports(c.WebhookPorts); err != nil {
				return err
			}
			if c.LAN && !cmd.Flags().Changed("addr") && os.Getenv("RATCHET_ADDR") == "" {
				c.Addr = addrOnLAN
			}
			c.DatabaseURL, c.Program, c.Out = os.Getenv("DATABASE_URL"), program(), cmd.OutOrStdout()
			ctx := cmd.Context()
			if !signal.Ignored(syscall.SIGHUP) { // with nohup, it is ours to ignore
				var stop context.CancelFunc
				ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP) // its terminal was closed
				defer stop()
			}
			return demo.Run(ctx, c)
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.Addr, "addr", env("RATCHET_ADDR", "127.0.0.1:8080"), "address of the API (RATCHET_ADDR)")
	f.StringVar(&c.DataDir, "data-dir", env("RATCHET_DATA_DIR", demo.DefaultDataDir()), "where the data is kept (RATCHET_DATA_DIR)")
	f.BoolVar(&c.Fresh, "fresh", false, "forget the data of earlier runs")
	f.BoolVar(&c.LAN, "lan", false, "let other machines in: everybody knows the demo's keys")
	f.StringVar(&c.PublicURL, "public-url", env("RATCHET_PUBLIC_URL", ""),
		"where browsers find the demo, if not at --addr; with --lan, an address of this machine unless given (RATCHET_PUBLIC_URL)")
	f.StringVar(&c.WebhookPorts, loopbackPortsFlag, env("RATCHET_WEBHOOK_LOOPBACK_PORTS", ""),
		"ports of this machine that webhooks may go to besides the shop's, such as 3000,4242, or any (RATCHET_WEBHOOK_LOOPBACK_PORTS)")
	return cmd
}

// program is how the user called us, for examples that can be copied.
func program() string {
	executable, err := os.Executable()
	if err == nil && strings.Contains(executable, "/go-build") {
		return "go run ./cmd/ratchet"
	}
	return os.Args[0]
}
