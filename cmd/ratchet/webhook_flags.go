package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/webhook"
)

// webhookFlags are the settings of deliveries.
type webhookFlags struct {
	allowLoopback          bool
	schedule, disableAfter string
}

func (f *webhookFlags) addLoopback(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.allowLoopback, "webhook-allow-loopback", os.Getenv("RATCHET_WEBHOOK_ALLOW_LOOPBACK") == "1",
		"let webhooks go to this machine, over plain HTTP too; give it to serve and to work (RATCHET_WEBHOOK_ALLOW_LOOPBACK=1)")
}

func (f *webhookFlags) addDelivery(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.schedule, "webhook-schedule", env("RATCHET_WEBHOOK_SCHEDULE", ""),
		"pauses between attempts to deliver an event, such as 10s,1m,5m,1h; not given: twelve attempts over three days (RATCHET_WEBHOOK_SCHEDULE)")
	cmd.Flags().StringVar(&f.disableAfter, "webhook-disable-after", env("RATCHET_WEBHOOK_DISABLE_AFTER", webhook.DefaultDisableAfter.String()),
		"disable an endpoint that has only failed for so long; 0: never (RATCHET_WEBHOOK_DISABLE_AFTER)")
}

func (f *webhookFlags) config() (c webhook.Config, err error) {
	c.AllowLoopback = f.allowLoopback
	if f.schedule != "" {
		if c.Schedule, err = webhook.ParseSchedule(f.schedule); err != nil {
			return c, usagef("--webhook-schedule: %v", err)
		}
	}
	if c.DisableAfter, err = time.ParseDuration(f.disableAfter); err != nil {
		return c, usagef("--webhook-disable-after is a time such as 168h, not %q", f.disableAfter)
	}
	if c.DisableAfter == 0 {
		c.DisableAfter = webhook.Never
	}
	return c, nil
}
