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

// addrOnLAN is where the demo listens with --lan and without --addr.
const addrOnLAN = "0.0.0.0:8080"

func demoCommand() *cobra.Command {
	c := demo.Config{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run everything on this machine, without any setup",
		Long: `Run everything on this machine, without any setup: PostgreSQL, the API, the worker,
a shop and an acquirer for test cards. Each is a separate process that is restarted
when it crashes. Ctrl-C stops all of them; the data stays for the next run.

It uses the PostgreSQL that DATABASE_URL names, or one that is installed here, or
downloads one, in this order.`,
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
	f.StringVar(&c.DataDir, "data-dir", env("RATCHET_DATA_DIR", demo.DefaultDataDir()),
		"data directory (RATCHET_DATA_DIR)")
	f.BoolVar(&c.Fresh, "fresh", false, "delete the data of earlier runs")
	f.BoolVar(&c.Empty, "empty", false, "begin without sample payments and customers")
	f.BoolVar(&c.LAN, "lan", false, "listen for other machines; the demo's API keys are public")
	f.StringVar(&c.PublicURL, "public-url", env("RATCHET_PUBLIC_URL", ""),
		"URL that browsers use, if not --addr; with --lan, an address of this machine by default (RATCHET_PUBLIC_URL)")
	f.StringVar(&c.WebhookPorts, loopbackPortsFlag, env("RATCHET_WEBHOOK_LOOPBACK_PORTS", ""),
		"ports of this machine that webhooks may use in addition to the shop's, such as 3000,4242, or any "+
			"(RATCHET_WEBHOOK_LOOPBACK_PORTS)")
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
