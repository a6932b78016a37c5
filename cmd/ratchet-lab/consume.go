package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/crashpoint"
	"github.com/ratchet-pay/ratchet/internal/lab/consumer"
	"github.com/ratchet-pay/ratchet/internal/lab/design"
	"github.com/ratchet-pay/ratchet/internal/lab/runner"
)

// consumeCommand is the process of a design that consumes a queue. The lab starts it,
// and kills it.
func consumeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "consume NAME", Hidden: true, Args: cobra.ExactArgs(1),
		Short: "Run the process of one design that consumes a queue",
		RunE: func(cmd *cobra.Command, args []string) error {
			crash := crashpoint.FromEnvironment()
			handle, closeAll, err := openConsumer(cmd.Context(), args[0], crash)
			if err != nil {
				return err
			}
			defer closeAll()
			return consume(cmd.Context(), crash, handle)
		},
	}
}

// openConsumer makes the handler of a design.
func openConsumer(ctx context.Context, name string, crash *crashpoint.Points) (design.Handler, func(), error) {
	if name == "inbox" {
		return openInbox(ctx, crash)
	}
	parts, err := partsOf(ctx, crash)
	if err != nil {
		return nil, nil, err
	}
	handle, err := design.NewConsumer(name, parts)
	return handle, parts.DB.Close, err
}

// inboxSecret keys the derived keys of the inbox's engine. It is the same in every
// process of a run.
const inboxSecret = "the secret of the lab's inbox"

func openInbox(ctx context.Context, crash *crashpoint.Points) (design.Handler, func(), error) {
	const conns = 6
	timeout, err := timeoutOfBank()
	if err != nil {
		return nil, nil, err
	}
	db, err := openDatabase(ctx, crash, conns)
	if err != nil {
		return nil, nil, err
	}
	quiet, err := openDatabase(ctx, nil, conns)
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	closeBoth := func() { db.Close(); quiet.Close() }
	bank := acquirer.Config{URL: os.Getenv(runner.AcquirerVariable), Secret: os.Getenv(runner.SecretVariable),
		DialContext: crash.DialAcquirer(), Timeout: timeout}
	c, err := consumer.Open(ctx, db, quiet, bank, []byte(inboxSecret), slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	if err != nil {
		closeBoth()
		return nil, nil, err
	}
	return c.Handle, func() { c.Close(); closeBoth() }, crash.Watch()
}

// dialer opens watched connections to the broker.
type dialer struct{ dial crashpoint.DialFunc }

func (d dialer) Dial(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), bankTimeout)
	defer cancel()
	return d.dial(ctx, network, address)
}

// consume handles one message after the other until ctx ends. It asks for the next when it has handled one, and nothing
// is fetched in advance. Its request to the broker stays open while it waits: if the consumer asked again and again, a
// message that arrives between two requests would be lost until the broker delivers it once more.
func consume(ctx context.Context, crash *crashpoint.Points, handle design.Handler) error {
	options := []nats.Option{nats.ReconnectWait(50 * time.Millisecond), nats.MaxReconnects(-1)}
	if dial := crash.DialBroker(); dial != nil {
		options = append(options, nats.SetCustomDialer(dialer{dial}))
	}
	conn, err := nats.Connect(os.Getenv(runner.BrokerVariable), options...)
	if err != nil {
		return fmt.Errorf("reach the broker: %w", err)
	}
	defer func() { _ = conn.Drain() }() // an acknowledgment that is lost means another delivery
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	orders, err := js.Consumer(ctx, os.Getenv(runner.StreamVariable), runner.Consumer)
	if err != nil {
		return fmt.Errorf("find the consumer: %w", err)
	}
	messages, err := orders.Messages(jetstream.PullMaxMessages(1))
	if err != nil {
		return fmt.Errorf("ask for messages: %w", err)
	}
	defer messages.Stop()
	slog.New(slog.NewJSONHandler(os.Stderr, nil)).Info("consuming")
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, jetstream.ErrNoHeartbeat):
			continue // the connection is broken, and comes back
		case err != nil:
			return fmt.Errorf("wait for a message: %w", err)
		}
		if err := take(context.WithoutCancel(ctx), crash, handle, m); err != nil {
			return err
		}
	}
}

// take arms what the message asks for, and has it handled.
func take(ctx context.Context, crash *crashpoint.Points, handle design.Handler, m jetstream.Msg) error {
	about, err := m.Metadata()
	if err != nil {
		return err
	}
	headers := http.Header(m.Headers())
	if about.NumDelivered > 1 {
		headers.Set(crashpoint.AtHeader, "0") // the fault strikes the first delivery
	}
	what := fmt.Sprintf("the message that %s the order, delivery %d", runner.Says(m.Subject()), about.NumDelivered)
	if err := crash.Delivered(headers, what); err != nil {
		return err
	}
	trouble := m.Headers().Get(acquirer.FaultHeader)
	handle(acquirer.WithFault(design.WithFault(ctx, trouble), trouble), m)
	return nil
}
