//go:build unix

package sdk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// cliCommand is a resource command of the Stripe CLI. What it makes is called by its name from
// then on: $customer is the ID of what the command named customer has answered. $number is a test card's.
type cliCommand struct{ name, line string }

// cliCommands are the operations of every resource that exists here, in an order in which each
// finds what it needs.
var cliCommands = []cliCommand{
	{"customer", "customers create --email ada@example.com --name Ada"},
	{"", "customers retrieve $customer"},
	{"", "customers update $customer --description Regular"},
	{"", "customers list --limit 3"},
	{"", "customers search --query email:'ada@example.com'"},
	{"token", "tokens create -d card[number]=$number -d card[exp_month]=12 -d card[exp_year]=2034"},
	{"", "tokens retrieve $token"},
	{"source", "payment_sources create $customer --source tok_visa"},
	{"", "payment_sources list $customer"},
	{"", "payment_sources retrieve $customer $source"},
	{"method", "payment_methods create --type card -d card[token]=tok_visa"},
	{"", "payment_methods retrieve $method"},
	{"", "payment_methods attach $method --customer $customer"},
	{"", "payment_methods update $method -d metadata[a]=b"},
	{"", "payment_methods list --customer $customer"},
	{"", "customers list_payment_methods $customer"},
	{"", "customers retrieve_payment_method $customer $method"},
	{"charge", "charges create --amount 2000 --currency usd --source tok_bypassPending"},
	{"", "charges retrieve $charge"},
	{"", "charges update $charge --description Ink"},
	{"", "charges list"},
	{"", "charges search --query amount>1000"},
	{"held", "charges create --amount 2000 --currency usd --source tok_visa --capture=false"},
	{"", "charges capture $held --amount 1500"},
	{"refund", "refunds create --charge $charge --amount 100"},
	{"", "refunds retrieve $refund"},
	{"", "refunds update $refund -d metadata[a]=b"},
	{"", "refunds list"},
	{"intent", "payment_intents create --amount 1500 --currency usd --customer $customer --capture-method manual " +
		"-d payment_method_types[]=card"},
	{"", "payment_intents retrieve $intent"},
	{"", "payment_intents update $intent --description Paper"},
	{"", "payment_intents confirm $intent --payment-method $method"},
	{"", "payment_intents capture $intent --amount-to-capture 1000"},
	{"", "payment_intents list"},
	{"", "payment_intents search --query status:'succeeded'"},
	{"other", "payment_intents create --amount 1500 --currency usd"},
	{"", "payment_intents cancel $other"},
	{"setup", "setup_intents create --customer $customer -d payment_method_types[]=card"},
	{"", "setup_intents retrieve $setup"},
	{"", "setup_intents update $setup --description Later"},
	{"", "setup_intents confirm $setup --payment-method $method"},
	{"", "setup_attempts list --setup-intent $setup"},
	{"", "setup_intents list"},
	{"unset", "setup_intents create"},
	{"", "setup_intents cancel $unset"},
	{"", "payment_methods detach $method"},
	{"confirmation", "test_helpers confirmation_tokens create --payment-method pm_card_visa"},
	{"", "confirmation_tokens retrieve $confirmation"},
	{"product", "products create --name Mug"},
	{"", "products retrieve $product"},
	{"", "products update $product --description Blue"},
	{"", "products list"},
	{"", "products search --query name:'Mug'"},
	{"price", "prices create --product $product --currency usd --unit-amount 900"},
	{"", "prices retrieve $price"},
	{"", "prices update $price --nickname Usual"},
	{"", "prices list"},
	{"", "prices search --query currency:'usd'"},
	{"spare", "products create --name Spare"},
	{"", "products delete $spare --confirm"},
	{"coupon", "coupons create --percent-off 10 --duration once"},
	{"", "coupons retrieve $coupon"},
	{"", "coupons update $coupon --name Winter"},
	{"", "coupons list"},
	{"", "coupons delete $coupon --confirm"},
	{"rate", "shipping_rates create --display-name Ground -d type=fixed_amount -d fixed_amount[amount]=500 " +
		"-d fixed_amount[currency]=usd"},
	{"", "shipping_rates retrieve $rate"},
	{"", "shipping_rates update $rate -d metadata[a]=b"},
	{"", "shipping_rates list"},
	{"session", "checkout sessions create --mode payment --success-url https://example.com/paid " +
		"-d line_items[0][price]=$price -d line_items[0][quantity]=1"},
	{"", "checkout sessions retrieve $session"},
	{"", "checkout sessions update $session -d metadata[a]=b"},
	{"", "checkout sessions list_line_items $session"},
	{"", "checkout sessions list"},
	{"", "checkout sessions expire $session"},
	{"link", "payment_links create -d line_items[0][price]=$price -d line_items[0][quantity]=1"},
	{"", "payment_links retrieve $link"},
	{"", "payment_links update $link -d metadata[a]=b"},
	{"", "payment_links list_line_items $link"},
	{"", "payment_links list"},
	{"disputed", "charges create --amount 3000 --currency usd --source tok_createDispute"},
	{"", "disputes list"},
	{"", "disputes retrieve $dispute"},
	{"", "disputes update $dispute -d evidence[uncategorized_text]=winning_evidence"},
	{"inquiry", "charges create --amount 3000 --currency usd --source tok_createDisputeInquiry"},
	{"", "disputes list"},
	{"", "disputes close $dispute --confirm"},
	{"", "balance retrieve"},
	{"", "balance_transactions list"},
	{"", "balance_transactions retrieve $transaction"},
	{"payout", "payouts create --amount 100 --currency usd"},
	{"", "payouts retrieve $payout"},
	{"", "payouts update $payout -d metadata[a]=b"},
	{"", "payouts list"},
	{"", "payouts cancel $payout"},
	{"clock", "test_helpers test_clocks create --frozen-time 2000000000"},
	{"", "test_helpers test_clocks retrieve $clock"},
	{"", "test_helpers test_clocks list"},
	{"", "test_helpers test_clocks advance $clock --frozen-time 2000000100"},
	{"endpoint", "webhook_endpoints create --url https://example.com/hook -d enabled_events[]=*"},
	{"", "webhook_endpoints retrieve $endpoint"},
	{"", "webhook_endpoints update $endpoint --description Main"},
	{"", "webhook_endpoints list"},
	{"", "webhook_endpoints delete $endpoint --confirm"},
	{"", "events list"},
	{"", "events retrieve $event"},
	{"", "events resend $event"},
	{"", "accounts retrieve"},
	{"", "customers delete $customer --confirm"},
	{"", "get $charge"},
	{"", "get /v1/charges --limit 2"},
	{"", "post /v1/customers -d name=Grace"},
}

// listed are names for the first object of the answer to a list.
var listed = map[string]string{"disputes list": "dispute", "balance_transactions list": "transaction",
	"events list": "event"}

// TestStripeCLICommands runs all of them for "make cli".
func TestStripeCLICommands(t *testing.T) {
	if os.Getenv("RATCHET_STRIPE_CLI") == "" {
		t.Log("make cli runs all commands; TestStripeCLI runs some")
		return
	}
	in, _ := installNotified(t)
	a := in.account(t)
	var missing []string
	visa, _ := testcard.ByName("visa")
	names := map[string]string{"number": visa.Number()}
	for _, c := range cliCommands {
		args := strings.Fields(os.Expand(c.line, func(name string) string { return names[name] }))
		out, err := command(t, in.url, a.key, args...).Output()
		out = out[max(0, bytes.IndexByte(out, '{')):] // after what it says before it deletes something
		var answer struct {
			ID    string
			Error json.RawMessage
			Data  json.RawMessage
		}
		if err != nil || json.Unmarshal(out, &answer) != nil || answer.Error != nil {
			t.Errorf("stripe %s: %v\n%s", strings.Join(args, " "), err, out)
			missing = append(missing, c.line)
			continue
		}
		if c.name != "" {
			names[c.name] = answer.ID
		}
		if name := listed[c.line]; name != "" {
			var objects []struct{ ID string }
			noError(t, json.Unmarshal(answer.Data, &objects))
			names[name] = objects[0].ID
		}
	}
	reportCLI("commands", len(cliCommands), missing)
}

// reportCLI says how a test went, for the table of docs/compatibility.md.
func reportCLI(what string, all int, missing []string) {
	fmt.Printf("Stripe CLI %s: %d of %d %s passed; missing: %s\n", cliVersion, all-len(missing), all, what,
		strings.Join(missing, ", "))
}
