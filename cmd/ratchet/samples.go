package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// samples are those of Stripe's samples that run against a demo, and what one unit costs in
// those that need a price, in US cents.
var samples = map[string]int64{
	"payment-element":                 0,
	"custom-payment-flow":             0,
	"elements-with-checkout-sessions": 0,
	"prebuilt-checkout-page":          2000,
	"checkout-one-time-payments":      1000,
}

func samplesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "samples",
		Short:   "Set up Stripe's samples to run against a demo",
		Example: "  ratchet samples env payment-element > .env",
		Args:    cobra.NoArgs,
		RunE:    help,
	}
	cmd.AddCommand(samplesEnvCommand())
	return cmd
}

func samplesEnvCommand() *cobra.Command {
	names := make([]string, 0, len(samples))
	for name := range samples {
		names = append(names, name)
	}
	slices.Sort(names)
	var base string
	cmd := &cobra.Command{
		Use:   "env SAMPLE",
		Short: "Print the .env file of a sample's server",
		Long: `Print the .env file of a sample's server. The demo has to be running. The command creates
the price that the sample sells and the webhook endpoint that its server listens at, once each.
No money moves.

The samples are ` + strings.Join(names, ", ") + `.
Webhooks reach the sample's server if the demo was started with --webhook-loopback-ports 4242.`,
		Example:   "  ratchet samples env payment-element > server/node/.env",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := sampleEnv(strings.TrimRight(base, "/"), args[0])
			if err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().StringVar(&base, "url", env("RATCHET_URL", "http://127.0.0.1:8080"),
		"address of the demo (RATCHET_URL)")
	return cmd
}

// Where the samples' servers listen, and the demo's keys.
const (
	sampleServer      = "http://localhost:4242"
	demoSecretKey     = "sk_test_ratchet_demo"
	demoPublicKey     = "pk_test_ratchet_demo"
	sampleClientFiles = "../../client/html"
)

func sampleEnv(base, name string) (string, error) {
	text := "STRIPE_PUBLISHABLE_KEY=" + demoPublicKey + "\nSTRIPE_SECRET_KEY=" + demoSecretKey + "\nSTATIC_DIR=" +
		sampleClientFiles + "\nDOMAIN=" + sampleServer + "\n"
	var made struct {
		ID     string
		Secret string
	}
	if amount := samples[name]; amount > 0 {
		err := createForSample(base+"/v1/prices", "samples-price-"+name, url.Values{
			"currency": {"usd"}, "unit_amount": {strconv.FormatInt(amount, 10)}, "product_data[name]": {"Single photo"},
		}, &made)
		if err != nil {
			return "", fmt.Errorf("create the price: %w", err)
		}
		text += "PRICE=" + made.ID + "\n"
	}
	err := createForSample(base+"/v1/webhook_endpoints", "samples-webhook", url.Values{
		"url": {sampleServer + "/webhook"}, "enabled_events[]": {"*"},
	}, &made)
	if err != nil { // the sample runs without webhooks, too
		return text + "# no webhooks: " + err.Error() + "\nSTRIPE_WEBHOOK_SECRET=\n", nil
	}
	return text + "STRIPE_WEBHOOK_SECRET=" + made.Secret + "\n", nil
}

// createForSample creates an object under a fixed idempotency key: a second call returns the same one.
func createForSample(address, key string, params url.Values, into any) error {
	request, err := http.NewRequest(http.MethodPost, address, strings.NewReader(params.Encode()))
	if err != nil {
		return err
	}
	request.SetBasicAuth(demoSecretKey, "")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Idempotency-Key", key)
	answer, err := (&http.Client{Timeout: 30 * time.Second}).Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return err
	}
	var refused struct {
		Error struct{ Message string }
	}
	if answer.StatusCode != http.StatusOK {
		_ = json.Unmarshal(body, &refused) // without a message, the status has to do
		return fmt.Errorf("%s returned %d: %s", address, answer.StatusCode, refused.Error.Message)
	}
	return json.Unmarshal(body, into)
}
