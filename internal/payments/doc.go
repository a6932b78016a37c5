// Package payments is what the API can do.
//
// <object>.go holds an object's row, its SQL and its form on the wire;
// <object>_<verb>.go holds an operation: what may be asked, and its phases. A
// charge is followed from the route to the ledger through routes.go,
// charge_create.go, charge.go and ledger/posting.go.
//
// Everything is one package because Stripe's objects refer to each other in
// circles, and Go's packages must not.
package payments

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/mail"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/apiversion"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// Viewer is who reads: everything it sees belongs to the account and the mode.
type Viewer struct {
	AccountID string
	Livemode  bool
	CardKey   []byte             // keys the fingerprints of magic tokens' cards
	Key       string             // the API key, as it may be shown
	Version   apiversion.Version // whose shapes it is shown

	Publishable bool // a browser, which sees and does what an intent's client secret opens
}

func viewer(c phase.Caller) Viewer {
	known := apirequest.Of(c)
	return Viewer{AccountID: c.AccountID, Livemode: c.Livemode, Publishable: known.Publishable, Version: known.APIVersion}
}

// viewerOf is the viewer of a check, which knows the test cards.
func viewerOf(c phase.Check) Viewer {
	v := viewer(c.Caller)
	v.CardKey = c.KeyFor(secret.Cards)
	return v
}

func (v Viewer) args() pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{"account_id": v.AccountID, "livemode": v.Livemode}
}

// one reads a row into a T, or returns nil where there is none.
func one[T any](ctx context.Context, db phase.Reader, sql string, args any) (*T, error) {
	rows, err := db.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[T])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %T: %w", found, err)
	}
	return found, nil
}

// queryAll reads rows into Ts.
func queryAll[T any](ctx context.Context, db phase.Reader, sql string, args any) ([]*T, error) {
	rows, err := db.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[T])
}

// byID reads one object of the viewer's. Another account's object is not there.
func byID[T any](ctx context.Context, db phase.Reader, sql string, v Viewer, id string) (*T, error) {
	args := v.args()
	args["id"] = id
	return one[T](ctx, db, sql, args)
}

// Address is a postal address as Stripe shows it: six fields, each of which may be null.
type Address struct {
	City       *string `json:"city" form:"city" max:"5000"`
	Country    *string `json:"country" form:"country" max:"5000"`
	Line1      *string `json:"line1" form:"line1" max:"5000"`
	Line2      *string `json:"line2" form:"line2" max:"5000"`
	PostalCode *string `json:"postal_code" form:"postal_code" max:"5000"`
	State      *string `json:"state" form:"state" max:"5000"`
}

// Shipping is where and how the goods of a charge are sent.
type Shipping struct {
	Address        *Address `json:"address" form:"address,required"`
	Carrier        *string  `json:"carrier,omitempty" form:"carrier" max:"5000"`
	Name           *string  `json:"name" form:"name,required" max:"5000"`
	Phone          *string  `json:"phone" form:"phone" max:"5000"`
	TrackingNumber *string  `json:"tracking_number,omitempty" form:"tracking_number" max:"5000"`
}

// CustomerShipping is where a customer's goods are sent. How they travel is known
// only of a charge.
type CustomerShipping struct {
	Address *Address `json:"address" form:"address,required"`
	Name    *string  `json:"name" form:"name,required" max:"5000"`
	Phone   *string  `json:"phone" form:"phone" max:"5000"`
}

// unix is a time on the wire: seconds since 1970.
func unix(t time.Time) int64 { return t.Unix() }

func unixOrNull(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	seconds := t.Unix()
	return &seconds
}

// given returns a parameter's new value: unchanged when it was not sent, nil
// when it was sent empty.
func given(sent, old *string) *string {
	switch {
	case sent == nil:
		return old
	case *sent == "":
		return nil
	}
	return sent
}

// asParam is the 400 for an object that a parameter, not the path, names.
func asParam(err error, param string) error {
	var missing *apierror.Error
	if errors.As(err, &missing) && missing.Status == http.StatusNotFound {
		missing.Status = http.StatusBadRequest
		return missing.WithParam(param)
	}
	return err
}

// looksLikeEmail is what can be said of an address without writing to it.
func looksLikeEmail(address string) bool {
	parsed, err := mail.ParseAddress(address)
	return err == nil && parsed.Address == address
}

func checkEmail(param string, address *string) error {
	if address != nil && *address != "" && !looksLikeEmail(*address) {
		return apierror.Invalid(param, "Invalid email address: %s", form.Quote(*address)).WithCode("email_invalid")
	}
	return nil
}

// isWebAddress says whether a browser can be sent there.
func isWebAddress(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && parsed.Host != "" && (parsed.Scheme == "http" || parsed.Scheme == "https")
}

// leadsBack says whether a cardholder can be sent back there: to a web page, or to
// an application by its own scheme. What a browser would run or open itself is neither.
func leadsBack(address string) bool {
	parsed, err := url.Parse(address)
	if err != nil {
		return false
	}
	switch parsed.Scheme {
	case "about", "blob", "data", "file", "filesystem", "javascript", "vbscript", "view-source":
		return false
	case "http", "https":
		return parsed.Host != ""
	}
	rest, follows := strings.CutPrefix(address[len(parsed.Scheme):], "://")
	return parsed.Scheme != "" && follows && !strings.ContainsFunc(rest, unfitForApps)
}

// unfitForApps are the characters that no address of an application contains unescaped.
// Browsers and operating systems parse such an address by rules of their own.
func unfitForApps(r rune) bool { return r == ';' || unicode.IsSpace(r) || unicode.IsControl(r) }

// orNull makes an empty text null.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
