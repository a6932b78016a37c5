package simulator_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// order posts an order, and returns the response's body and whether it was a replay.
func order(t *testing.T, sim *acquirertest.Sim, path string, asked any) (body []byte, replayed string) {
	t.Helper()
	text, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	url := sim.URL() + acquirer.OperationsPath + path
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+sim.Secret())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %s, %v", path, response.StatusCode, body, err)
	}
	return body, response.Header.Get(acquirer.ReplayedHeader)
}

func TestAuthorizations(t *testing.T) {
	t.Parallel()
	sim := acquirertest.Start(t, pgtest.New(t).URL)
	sale := acquirer.Request{Verb: acquirer.VerbAuthorize, Order: acquirer.Order{
		Merchant: "acct_1", Card: "visa", Amount: 2000, Currency: "usd", Capture: true, Object: "ch_first"}}
	first, _ := order(t, sim, "sale", sale)

	t.Run("a replay says so, and its body is the same", func(t *testing.T) {
		retry := sale
		retry.Order.Object = "ch_second"
		again, replayed := order(t, sim, "sale", retry)
		if replayed != "true" || !bytes.Equal(first, again) {
			t.Errorf("replayed: %s\n%s\n%s", replayed, first, again)
		}
		if _, replayed := order(t, sim, "another_sale", sale); replayed != "false" {
			t.Errorf("a first call is a replay: %s", replayed)
		}
	})

	t.Run("each lists what moved its money, with the first object's ID, and no reversed sale", func(t *testing.T) {
		order(t, sim, "reversed_sale", sale)
		order(t, sim, "reversed_sale"+acquirer.ReversePath, nil)
		var done acquirer.Operation
		if err := json.Unmarshal(first, &done); err != nil {
			t.Fatal(err)
		}
		order(t, sim, "refund", acquirer.Request{Verb: acquirer.VerbRefund, Order: acquirer.Order{
			Authorization: done.Result.Reference, Amount: 500, Currency: "usd", Object: "re_1"}})
		found, err := sim.Client().Authorizations(t.Context(), time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
		if err != nil || len(found) != 2 {
			t.Fatalf("%d authorizations, %v: %+v", len(found), err, found)
		}
		executed := found[0].Executed
		if a := found[0]; a.ID != done.Result.Reference || a.Merchant != "acct_1" || a.Card != "visa" ||
			len(executed) != 2 {
			t.Fatalf("listed %+v", a)
		}
		e := executed[0]
		if e.Key != "sale" || e.Kind != acquirer.KindSale || e.Object != "ch_first" ||
			e.Result.AuthorizationCode == "" {
			t.Errorf("the sale is %+v", e)
		}
		e = executed[1]
		if e.Key != "refund" || e.Kind != acquirer.KindRefund || e.Object != "re_1" || e.Amount != 500 {
			t.Errorf("the refund is %+v", e)
		}
		found, err = sim.Client().Authorizations(t.Context(), time.Now().Add(time.Hour), time.Now().Add(2*time.Hour))
		if err != nil || len(found) != 0 {
			t.Errorf("%d authorizations of the future, %v", len(found), err)
		}
	})
}
