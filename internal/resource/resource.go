// Package resource is what all objects of the API share: the caller's principal, how an object
// is read, listed, searched and expanded, and common parameters. It does not know any object.
// Their packages register their kinds with Register.
package resource

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

// CheckDescriptors holds what a card's statement can show to the networks' rules.
func CheckDescriptors(descriptors ...*string) error {
	for i, d := range descriptors {
		param := [...]string{"statement_descriptor", "statement_descriptor_suffix"}[i]
		switch {
		case d == nil:
		case strings.ContainsAny(*d, `<>\'"*`):
			return apierror.Invalid(param,
				"The statement descriptor cannot contain the characters: <, >, \\, ', \", *.")
		case i == 0 && len(*d) < 5:
			return apierror.Invalid(param, "The statement descriptor must be at least 5 characters.")
		case !strings.ContainsFunc(*d, isLetter):
			return apierror.Invalid(param, "The statement descriptor must contain at least one letter.")
		}
	}
	return nil
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// WithinParam names the parameter that encloses the one an error is about.
func WithinParam(param string, err error) error {
	var fault *apierror.Error
	if errors.As(err, &fault) && fault.Param != "" {
		return fault.WithParam(NestedParam(param, fault.Param))
	}
	return err
}

// Principal is who reads: everything it sees belongs to the account and the mode.
type Principal struct {
	AccountID string
	Livemode  bool
	CardKey   []byte             // keys the fingerprints of magic tokens' cards
	Key       string             // the API key, as it may be shown
	Version   apiversion.Version // whose shapes it is shown

	Publishable bool // a browser, which sees and does what an intent's client secret opens
}

// PrincipalOf is who sent the request. It knows no key of cards: a check uses PrincipalOfCheck.
func PrincipalOf(c phase.Caller) Principal {
	known := apirequest.Of(c)
	return Principal{
		AccountID:   c.AccountID,
		Livemode:    c.Livemode,
		Publishable: known.Publishable,
		Version:     known.APIVersion,
	}
}

// PrincipalOfCheck is who sent the request of a check, with the key of test cards.
func PrincipalOfCheck(c phase.Check) Principal {
	v := PrincipalOf(c.Caller)
	v.CardKey = c.Keys(secret.Cards).Oldest()
	return v
}

// Args are account_id and livemode, which every statement takes.
func (v Principal) Args() pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{"account_id": v.AccountID, "livemode": v.Livemode}
}

// QueryOne reads a row into a T, or returns nil where there is none.
func QueryOne[T any](ctx context.Context, db phase.Reader, sql string, args any) (*T, error) {
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

// Get reads one object of the viewer's. Another account's object is not found.
func Get[T any](ctx context.Context, db phase.Reader, sql string, v Principal, id string) (*T, error) {
	args := v.Args()
	args["id"] = id
	return QueryOne[T](ctx, db, sql, args)
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

// Unix is a time on the wire: seconds since 1970.
func Unix(t time.Time) int64 { return t.Unix() }

// UnixOrNil is a time as seconds since 1970, or nil.
func UnixOrNil(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	seconds := t.Unix()
	return &seconds
}

// Patch returns a parameter's new value: unchanged when it was not sent, nil
// when it was sent empty.
func Patch(sent, old *string) *string {
	switch {
	case sent == nil:
		return old
	case *sent == "":
		return nil
	}
	return sent
}

// SetOnce returns the new value of a parameter that cannot be changed any more once it has a value.
func SetOnce(param, object string, old, sent *string) (*string, error) {
	if sent == nil || old != nil && *old == *sent {
		return old, nil
	}
	if old != nil {
		return nil, apierror.Invalid(param, "You cannot change the %s of %s: it already has one.", param, object)
	}
	return Patch(sent, nil), nil
}

// AsParam is the 400 for an object that a parameter, not the path, names.
func AsParam(err error, param string) error {
	var missing *apierror.Error
	if errors.As(err, &missing) && missing.Status == http.StatusNotFound {
		missing.Status = http.StatusBadRequest
		return missing.WithParam(param)
	}
	return err
}

// LooksLikeEmail is what can be said of an address without writing to it.
func LooksLikeEmail(address string) bool {
	parsed, err := mail.ParseAddress(address)
	return err == nil && parsed.Address == address
}

// CheckEmail returns a 400 that names param if the address cannot be one. An empty address passes: it takes one away.
func CheckEmail(param string, address *string) error {
	if address != nil && *address != "" && !LooksLikeEmail(*address) {
		return apierror.Invalid(param, "Invalid email address: %s", form.Quote(*address)).WithCode("email_invalid")
	}
	return nil
}

// IsWebAddress says whether a browser can be sent there.
func IsWebAddress(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && parsed.Host != "" && (parsed.Scheme == "http" || parsed.Scheme == "https")
}

// IsReturnURL says whether a cardholder can be sent back there: to a web page, or to
// an application by its own scheme. What a browser would run or open itself is neither.
func IsReturnURL(address string) bool {
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
// Browsers and operating systems parse such an address by their own rules.
func unfitForApps(r rune) bool { return r == ';' || unicode.IsSpace(r) || unicode.IsControl(r) }

// NilIfZero is what was sent, or nil where it was sent without any content: that takes the field away.
func NilIfZero[T comparable](sent *T) *T {
	var zero T
	if *sent == zero {
		return nil
	}
	return sent
}

// NilIfEmpty returns nil for an empty text, which JSON and SQL show as null, and a pointer to any other.
func NilIfEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Deref is the text, or "" for nil.
func Deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// NestedParam names a parameter inside another one.
func NestedParam(at, name string) string {
	if at == "" {
		return name
	}
	return at + "[" + name + "]"
}
