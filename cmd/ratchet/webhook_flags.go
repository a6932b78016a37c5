package main

import (
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/webhook"
)

// webhookFlags are the settings of deliveries.
type webhookFlags struct {
	allowLoopback          bool
	loopbackPorts          string
	networks               string
	schedule, disableAfter string
}

func (f *webhookFlags) addLoopback(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.allowLoopback, "webhook-allow-loopback", os.Getenv("RATCHET_WEBHOOK_ALLOW_LOOPBACK") == "1",
		"allow webhooks to this machine, also over plain HTTP; set it for serve and work "+
			"(RATCHET_WEBHOOK_ALLOW_LOOPBACK=1)")
	cmd.Flags().StringVar(&f.loopbackPorts, loopbackPortsFlag, env("RATCHET_WEBHOOK_LOOPBACK_PORTS", ""),
		"and only to these ports, such as 3000,4242; the default, or any: all ports (RATCHET_WEBHOOK_LOOPBACK_PORTS)")
	cmd.Flags().StringVar(&f.networks, webhookNetworksFlag, env("RATCHET_WEBHOOK_NETWORKS", ""),
		"private networks that webhooks may reach, also over plain HTTP and at any port, such as 172.16.0.0/12; set "+
			"it for serve and work (RATCHET_WEBHOOK_NETWORKS)")
}

const webhookNetworksFlag = "webhook-networks"

// networks reads a list of networks such as 172.16.0.0/12,192.168.0.0/16.
func networks(list string) (all []netip.Prefix, err error) {
	for _, text := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		network, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil || network != network.Masked() {
			return nil, usagef("--%s must be a list of networks such as 172.16.0.0/12, not %q", webhookNetworksFlag,
				list)
		}
		all = append(all, network)
	}
	return all, nil
}

const loopbackPortsFlag = "webhook-loopback-ports"

// anyPort means every port. The demo passes it, too (demo.AnyPort).
const anyPort = "any"

// ports reads a list of ports. "" and "any" are every port.
func ports(list string) (all []uint16, err error) {
	if list == "" || list == anyPort {
		return nil, nil
	}
	for _, text := range strings.Split(list, ",") {
		port, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16)
		if err != nil || port == 0 {
			return nil,
				usagef("--%s must be a list of ports such as 3000,4242, or %s, not %q", loopbackPortsFlag,
					anyPort, list)
		}
		all = append(all, uint16(port))
	}
	return all, nil
}

func (f *webhookFlags) addDelivery(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.schedule, "webhook-schedule", env("RATCHET_WEBHOOK_SCHEDULE", ""),
		"pauses between delivery attempts, such as 10s,1m,5m,1h; by default twelve attempts over three days "+
			"(RATCHET_WEBHOOK_SCHEDULE)")
	cmd.Flags().StringVar(&f.disableAfter, "webhook-disable-after",
		env("RATCHET_WEBHOOK_DISABLE_AFTER", webhook.DefaultDisableAfter.String()),
		"disable an endpoint that has only failed for this long; 0: never (RATCHET_WEBHOOK_DISABLE_AFTER)")
}

func (f *webhookFlags) config() (c webhook.Config, err error) {
	c.AllowLoopback = f.allowLoopback
	if c.LoopbackPorts, err = ports(f.loopbackPorts); err != nil {
		return c, err
	}
	if c.Networks, err = networks(f.networks); err != nil {
		return c, err
	}
	if f.schedule != "" {
		if c.Schedule, err = webhook.ParseSchedule(f.schedule); err != nil {
			return c, usagef("--webhook-schedule: %v", err)
		}
	}
	if f.disableAfter == "" { // of serve, which delivers nothing
		return c, nil
	}
	if c.DisableAfter, err = time.ParseDuration(f.disableAfter); err != nil {
		return c, usagef("--webhook-disable-after must be a duration such as 168h, not %q", f.disableAfter)
	}
	if c.DisableAfter == 0 {
		c.DisableAfter = webhook.Never
	}
	return c, nil
}
