package customer

import (
	"context"
	"net/http"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

func init() {
	resource.Register(resource.Kind{
		Object: "card",
		Prefix: "card",
		Table:  "cards",
		Load:   resource.LoadWith[CustomerCard](cardsByID),
		Fields: map[string][]string{
			"customer": {"customer"}, "account": nil,
		},
	})
}

// Card is what is kept of a card: what may be shown, and the name under which
// the acquirer's vault knows it. The number and the security code are gone by
// the time a Card exists.
type Card struct {
	Vault        string  `json:"vault"` // the acquirer's reference
	Brand        string  `json:"brand"` // "visa"
	DisplayBrand string  `json:"display_brand"`
	Last4        string  `json:"last4"`
	ExpMonth     int64   `json:"exp_month"`
	ExpYear      int64   `json:"exp_year"`
	Country      string  `json:"country"`
	Funding      string  `json:"funding"`
	Fingerprint  string  `json:"fingerprint"`
	CVCCheck     *string `json:"cvc_check,omitzero"`
	SetUp        bool    `json:"set_up,omitzero"` // of a customer's card that is used as a payment method
	CardHolder
}

// CardHolder is what a customer may change of a card.
type CardHolder struct {
	Name           *string `json:"name,omitzero" form:"name,unset" max:"5000"`
	AddressCity    *string `json:"address_city,omitzero" form:"address_city,unset" max:"5000"`
	AddressCountry *string `json:"address_country,omitzero" form:"address_country,unset" max:"5000"`
	AddressLine1   *string `json:"address_line1,omitzero" form:"address_line1,unset" max:"5000"`
	AddressLine2   *string `json:"address_line2,omitzero" form:"address_line2,unset" max:"5000"`
	AddressState   *string `json:"address_state,omitzero" form:"address_state,unset" max:"5000"`
	AddressZip     *string `json:"address_zip,omitzero" form:"address_zip,unset" max:"5000"`
}

// changed returns the holder with the fields that were sent.
func (h CardHolder) changed(sent CardHolder) CardHolder {
	return CardHolder{
		Name:           resource.Patch(sent.Name, h.Name),
		AddressCity:    resource.Patch(sent.AddressCity, h.AddressCity),
		AddressCountry: resource.Patch(sent.AddressCountry, h.AddressCountry),
		AddressLine1:   resource.Patch(sent.AddressLine1, h.AddressLine1),
		AddressLine2:   resource.Patch(sent.AddressLine2, h.AddressLine2),
		AddressState:   resource.Patch(sent.AddressState, h.AddressState),
		AddressZip:     resource.Patch(sent.AddressZip, h.AddressZip),
	}
}

// check refuses a card number typed into the wrong field: it would
// be kept and shown.
func (h CardHolder) check(prefix, suffix string) error {
	for name, text := range map[string]*string{
		"name":            h.Name,
		"address_city":    h.AddressCity,
		"address_country": h.AddressCountry,
		"address_line1":   h.AddressLine1,
		"address_line2":   h.AddressLine2,
		"address_state":   h.AddressState,
		"address_zip":     h.AddressZip,
	} {
		if text != nil && testcard.IsNumber(*text) {
			return apierror.Invalid(prefix+name+suffix, "A card number does not belong in this field.")
		}
	}
	return nil
}

// fromTestCard is what is kept of a test card. Its expiry is the caller's to fill in.
func fromTestCard(c testcard.Card, fingerprintKey []byte) Card {
	return Card{
		Vault: c.Name, Brand: c.Brand, DisplayBrand: c.DisplayBrand, Last4: c.Last4,
		Country: c.Country, Funding: c.Funding, Fingerprint: c.Fingerprint(fingerprintKey),
	}
}

// VaultCard is a card of which only its name in the acquirer's vault is known, as it
// was at a time. Its expiry is the one that the test card of that name shows.
func VaultCard(vault string, fingerprintKey []byte, at time.Time) (card Card, known bool) {
	found, known := testcard.ByName(vault)
	card = fromTestCard(found, fingerprintKey)
	card.Vault = vault
	card.ExpMonth, card.ExpYear = testcard.Expiry(at)
	return card, known
}

// magicCard finds the test card that an id such as tok_visa or pm_card_visa refers
// to; find knows which of them count. Live mode declines it as it declines the card itself.
func magicCard(
	find func(string) (testcard.Card, bool), name string, livemode bool,
) (card testcard.Card, is bool, err error) {
	card, is = find(name)
	if is && livemode {
		return testcard.Card{}, false, testcard.DeclineInLiveMode()
	}
	return card, is, nil
}

// unchecked is the value for the check of an address that has not been made.
func unchecked(value *string) *string {
	if value == nil {
		return nil
	}
	return resource.NilIfEmpty("unchecked")
}

type cardNetworks struct {
	Preferred *string `json:"preferred"`
}

// CardObject is a card on the wire: inside a token, or kept with a customer.
type CardObject struct {
	ID                string            `json:"id"`
	Object            string            `json:"object"`
	AddressCity       *string           `json:"address_city"`
	AddressCountry    *string           `json:"address_country"`
	AddressLine1      *string           `json:"address_line1"`
	AddressLine1Check *string           `json:"address_line1_check"`
	AddressLine2      *string           `json:"address_line2"`
	AddressState      *string           `json:"address_state"`
	AddressZip        *string           `json:"address_zip"`
	AddressZipCheck   *string           `json:"address_zip_check"`
	Brand             string            `json:"brand"`
	Country           string            `json:"country"`
	Customer          *string           `json:"customer,omitempty"`
	CVCCheck          *string           `json:"cvc_check"`
	DynamicLast4      *string           `json:"dynamic_last4"`
	ExpMonth          int64             `json:"exp_month"`
	ExpYear           int64             `json:"exp_year"`
	Fingerprint       string            `json:"fingerprint"`
	Funding           string            `json:"funding"`
	Last4             string            `json:"last4"`
	Metadata          map[string]string `json:"metadata"`
	Name              *string           `json:"name"`
	Networks          *cardNetworks     `json:"networks,omitempty"`
	RegulatedStatus   string            `json:"regulated_status"`
	Tokenization      *string           `json:"tokenization_method"`
}

// Render is a card as Stripe shows it. customer is nil inside a token, and on a
// charge that no customer's card paid.
func (c Card) Render(id string, customer *string, metadata map[string]string) CardObject {
	if metadata == nil {
		metadata = map[string]string{}
	}
	return CardObject{
		ID: id, Object: "card", Customer: customer, Metadata: metadata,
		Brand: c.DisplayBrand, Country: c.Country, CVCCheck: c.CVCCheck, ExpMonth: c.ExpMonth, ExpYear: c.ExpYear,
		Fingerprint: c.Fingerprint, Funding: c.Funding, Last4: c.Last4, RegulatedStatus: "unregulated",
		Name: c.Name, AddressCity: c.AddressCity, AddressCountry: c.AddressCountry, AddressLine1: c.AddressLine1,
		AddressLine1Check: unchecked(c.AddressLine1), AddressLine2: c.AddressLine2, AddressState: c.AddressState,
		AddressZip: c.AddressZip, AddressZipCheck: unchecked(c.AddressZip),
	}
}

// CustomerCard is a card kept with a customer: a legacy source, chargeable again.
type CustomerCard struct {
	AccountID  string
	ID         string
	Livemode   bool
	RequestID  string
	CustomerID string
	Card       Card
	Metadata   map[string]string
	CreatedAt  time.Time
	DeletedAt  *time.Time
}

// Render is the object as API responses show it, before anything in it is expanded.
func (c *CustomerCard) Render() any { return c.Card.Render(c.ID, &c.CustomerID, c.Metadata) }

var insertCards = postgres.InsertRows[CustomerCard]("cards", `account_id, id, livemode, request_id, customer_id,
	card, metadata, created_at`)

const selectCards = `
	SELECT account_id, id, livemode, request_id, customer_id, card, metadata, created_at, deleted_at
	FROM cards
	WHERE account_id = @account_id AND livemode = @livemode AND deleted_at IS NULL`

const (
	// CardByID selects one card (@id) of an account and mode, or no row.
	CardByID           = selectCards + ` AND id = @id`
	cardsByID          = selectCards + ` AND id = ANY (@ids::text[])`
	lockCard           = CardByID + ` FOR NO KEY UPDATE`
	listCards          = selectCards + ` AND customer_id = @customer_id` + resource.NewestFirst
	listCardsBackwards = selectCards + ` AND customer_id = @customer_id` + resource.OldestFirst
	cardsOf            = `SELECT c.* FROM unnest(@parents::text[]) AS parent (id) CROSS JOIN LATERAL (` +
		selectCards + ` AND customer_id = parent.id ORDER BY id DESC LIMIT @limit) AS c ORDER BY c.id DESC`
)

func insertCustomerCard(tx *phase.Tx, c CustomerCard) { tx.Write(insertCards, postgres.RowsOf(c)) }

// cardsOfCustomers are the lists that customers show when they are asked for.
func cardsOfCustomers(
	ctx context.Context, db phase.Reader, v resource.Principal, customers []string,
) (map[string]resource.ListObject, error) {
	return resource.ListInside(ctx, db, cardsOf, v, customers, func(c *CustomerCard) string { return c.CustomerID },
		func(customer string) string { return "/v1/customers/" + customer + "/sources" })
}

// CardError returns the error for a declined card: 402, with the acquirer's code, decline code and message.
func CardError(a acquirer.Result) *apierror.Error {
	e := &apierror.Error{
		Status: http.StatusPaymentRequired, Type: apierror.TypeCard,
		DeclineCode: a.DeclineCode, AdviceCode: a.AdviceCode, Param: a.Param, Message: a.Message,
	}
	return e.WithCode(a.Code)
}

// CardChecks are the results of the bank's checks: "pass", "fail", "unavailable" or "unchecked"; null where nothing was
// sent to check.
type CardChecks struct {
	AddressLine1Check      *string `json:"address_line1_check"`
	AddressPostalCodeCheck *string `json:"address_postal_code_check"`
	CVCCheck               *string `json:"cvc_check"`
}
