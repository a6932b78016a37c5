//go:build unix

package sdk_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85"
)

// reconcile runs the operator's command for today, and returns what it says and
// its exit code.
func (in *installation) reconcile(t *testing.T) (said string, code int) {
	t.Helper()
	command := exec.Command(os.Getenv(binaryVar), "reconcile", "--date", time.Now().UTC().Format(time.DateOnly))
	command.Env = append(os.Environ(), in.env...)
	out, _ := command.CombinedOutput() // the code says whether it failed
	return string(out), command.ProcessState.ExitCode()
}

func TestReconciliation(t *testing.T) {
	inTurn(t)
	in, _ := installNotified(t)
	a := in.account(t)
	charge := a.sell(2000)
	a.refund(&stripe.RefundCreateParams{Charge: &charge.ID, Amount: stripe.Int64(500)})
	_, err := a.V1Charges.Capture(t.Context(), a.hold(3000).ID, &stripe.ChargeCaptureParams{Amount: stripe.Int64(1000)})
	noError(t, err)
	a.earn(5000)
	payout := a.payOut(dollars(700))
	_, err = a.cancelPayout(a.payOut(dollars(300)).ID)
	noError(t, err)

	// The acquirer has executed both refunds.
	a.refund(&stripe.RefundCreateParams{Charge: &a.sellWith("tok_pendingRefund", 2100).ID})
	failed := a.refund(&stripe.RefundCreateParams{Charge: &a.sellWith("tok_refundFail", 2200).ID})
	a.awaitRefund(failed.ID, stripe.RefundStatusFailed)

	said, code := in.reconcile(t)
	if code != 0 {
		t.Fatalf("what agrees is reported with code %d: %s", code, said)
	}

	for _, injected := range []string{
		`ALTER TABLE acquirer.movements DISABLE TRIGGER ALL`,
		`
			INSERT INTO acquirer.movements (key, reference, authorization_id, verb, card, kind, amount, currency,
				result, at)
			VALUES ('rk_strange', 'auth_strange', 'auth_strange', 'authorize', 'visa', 'sale', 4321, 'usd', 'approved',
				now())`,
		`DELETE FROM acquirer.movements WHERE kind = 'payout' AND amount = 700`,
		`UPDATE acquirer.movements SET amount = 501 WHERE kind = 'refund' AND amount = 500`,
	} {
		_, err := in.journal.Exec(t.Context(), injected)
		noError(t, err)
	}
	for range 2 { // a second run finds the same and lists nothing twice
		said, code = in.reconcile(t)
		equal(t, "exit code", code, 1)
		for _, named := range []string{"auth_strange", "4321 usd", payout.ID, "refund of 501 usd"} {
			if !strings.Contains(said, named) {
				t.Errorf("%s is not named in:\n%s", named, said)
			}
		}
		var listed int
		noError(t, in.db.QueryRow(t.Context(), `SELECT count(*) FROM settlement_differences`).Scan(&listed))
		equal(t, "differences listed", listed, 3)
	}
}
