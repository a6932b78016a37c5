package main

import (
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/lab/page"
)

// serveCommand is the lab of a demo: it runs what the pages ask for. The demo
// starts it when that happens first. It serves no pages, so it is not what is
// killed, and it tells the story of what is.
func serveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "lab", Hidden: true, Args: cobra.NoArgs,
		Short: "Run the lab of a demo",
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := net.Listen("tcp", os.Getenv(page.AddrVariable))
			if err != nil {
				return err
			}
			k := newKeeper(cmd.Context(), os.Getenv(page.RunsVariable))
			defer k.close()
			if err := os.MkdirAll(k.dir, 0o700); err != nil {
				return err
			}
			server := &http.Server{Handler: k.handler(), ReadHeaderTimeout: 5 * time.Second}
			slog.New(slog.NewJSONHandler(os.Stderr, nil)).Info("the lab is ready", "addr", l.Addr().String())
			ended := make(chan error, 1)
			go func() { ended <- server.Serve(l) }()
			select {
			case err := <-ended:
				return err
			case <-cmd.Context().Done():
				return server.Close()
			}
		},
	}
}
