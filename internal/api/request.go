package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/apiversion"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// maxKey is how many characters an idempotency key has at most, as at Stripe.
const maxKey = 255

// request is what the handlers need of an HTTP request, checked.
type request struct {
	http       *http.Request
	id         string // req_…
	route      *route
	names      []string // of the path's parameters, in order
	params     []string
	values     form.Values
	credential *apikey.Credential
	version    apiversion.Version // whose parameters are sent and whose shapes are answered
	key        string             // idempotency key, "" for none
	cardKey    []byte

	permissions permissions
}

// read checks everything about a request that does not depend on what it asks for.
func (s *Server) read(c echo.Context, rt *route, id string) (*request, error) {
	h := c.Request()
	r := &request{
		http:        h,
		id:          id,
		route:       rt,
		names:       c.ParamNames(),
		params:      c.ParamValues(),
		cardKey:     s.cardKey,
		permissions: s.permissions,
	}
	if err := s.limits.checkSize(h); err != nil {
		return nil, err
	}
	browserKey, sent := s.browserKey(c, rt)
	var err error
	if r.credential, err = s.authenticate(h, rt, browserKey); err != nil {
		return nil, err
	}
	if err := s.limiters.allow(r.credential); err != nil {
		return r, err
	}
	if err := s.permissions.check(r.credential, rt, rt.shows); err != nil {
		return r, err
	}
	if r.version, err = version(h.Header, r.credential.DefaultVersion); err != nil {
		return r, err
	}
	if r.key, err = idempotencyKey(h, r.publishable()); err != nil {
		return r, err
	}
	if !s.limits.AllowCardNumbers && testcard.Mentions(r.key) {
		r.key = "" // it is in no log either
		return r, apierror.Idempotency("The Idempotency Key contains a card number, which Ratchet does not store. " +
			"Use a random key, such as a V4 UUID.")
	}
	if r.params, err = unescaped(h.URL, r.params); err != nil {
		return r, unknownURL(h)
	}
	if browserKey == "" {
		sent, err = s.form(c)
	}
	if r.publishable() {
		sent = withoutReports(sent)
	}
	r.values = sent
	return r, err
}

// browserReports are what Stripe.js says of the browser, beside what the page sends.
var browserReports = []string{"_stripe_account", "_stripe_version", "client_attribution_metadata",
	"expected_payment_method_type", "guid", "muid", "pasted_fields", "payment_user_agent", "referrer", "sid",
	"time_on_page"}

// withoutReports drops what Stripe.js adds. It is not kept, and is not part of the request's
// fingerprint: a retry reports another time on the page.
func withoutReports(sent form.Values) form.Values {
	for _, name := range browserReports {
		if sent.Has(name) {
			sent = sent.Without(name)
		}
		if sent.Has("payment_method_data", name) {
			sent = sent.Without("payment_method_data", name)
		}
	}
	return sent
}

// form reads the parameters in a request's query and body.
func (s *Server) form(c echo.Context) (form.Values, error) {
	raw, err := s.body(c)
	if err != nil {
		return form.Values{}, err
	}
	if query := c.Request().URL.RawQuery; query != "" {
		raw = strings.TrimSuffix(query+"&"+raw, "&")
	}
	if s.limits.AllowCardNumbers {
		return s.limits.Form.Parse(raw)
	}
	return s.limits.Form.ParseChecked(raw, refuseCardNumber)
}

// cardNumberFields are the parameters that take a card number.
var cardNumberFields = []string{"card[number]", "source[number]", "payment_method_data[card][number]"}

// refuseCardNumber keeps card numbers out of descriptions, metadata and all other
// parameters that are stored and shown as they were sent (PCI DSS 4.0.1, 3.5).
func refuseCardNumber(name, value string) *apierror.Error {
	if testcard.Mentions(name) {
		return apierror.Invalid("", "The name of a parameter contains a card number. It was not stored.")
	}
	if slices.Contains(cardNumberFields, name) || !testcard.Mentions(value) {
		return nil
	}
	return apierror.Invalid(form.Quote(name), "This parameter contains a card number, which Ratchet does not store. "+
		"Create a PaymentMethod or a token from the card, and send its ID.")
}

func (l *Limits) checkSize(h *http.Request) error {
	size := 0
	for name, values := range h.Header {
		for _, value := range values {
			size += len(name) + len(value)
		}
	}
	switch {
	case size > l.HeaderBytes:
		return tooLarge(http.StatusRequestHeaderFieldsTooLarge,
			"The request's headers are too large: %d bytes, at most %d are accepted.", size, l.HeaderBytes)
	case len(h.RequestURI) > l.URLBytes:
		return tooLarge(http.StatusRequestURITooLong, "The request's URL is too long: at most %d bytes are accepted.",
			l.URLBytes)
	case h.ContentLength > int64(l.BodyBytes):
		return tooLarge(http.StatusRequestEntityTooLarge,
			"The request's body is too large: at most %d bytes are accepted.", l.BodyBytes)
	}
	return nil
}

func tooLarge(status int, format string, args ...any) error {
	return &apierror.Error{Status: status, Type: apierror.TypeInvalidRequest, Message: fmt.Sprintf(format, args...)}
}

// unescaped are the parameters of a path as the caller meant them. The router has
// them as they were sent only where RawPath is set. Elsewhere they are unescaped
// already, and a percent sign in them is one.
func unescaped(address *url.URL, params []string) ([]string, error) {
	plain := make([]string, len(params))
	for i, p := range params {
		if address.RawPath != "" {
			var err error
			if p, err = url.PathUnescape(p); err != nil {
				return nil, err
			}
		}
		if !printable(p) {
			return nil, errors.New("a path parameter is not text")
		}
		plain[i] = p
	}
	return plain, nil
}

// version reads Stripe-Version. Without it, the account's default counts.
func version(header http.Header, account apiversion.Version) (apiversion.Version, error) {
	given := header.Get("Stripe-Version")
	if given == "" {
		return account.OrCurrent(), nil
	}
	if v, known := apiversion.Parse(given); known {
		return v, nil
	}
	return "", apierror.Invalid("", "Invalid Stripe API version: %s", form.Quote(given))
}

// idempotencyKey reads the key of a POST. Other methods have none. A browser's key is
// shorter by what it is stored with (see request.storedKey).
func idempotencyKey(h *http.Request, publishable bool) (string, error) {
	if h.Method != http.MethodPost {
		return "", nil
	}
	values := h.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	key, longest := values[0], maxKey
	if publishable {
		longest -= len(apirequest.BrowserKeys)
	}
	switch {
	case len(values) > 1:
		return "", apierror.Idempotency("Received %d Idempotency-Key headers. Please send one.", len(values))
	case key == "":
		return "", apierror.Idempotency("Idempotency Key must be a non-empty string.")
	case utf8.RuneCountInString(key) > longest:
		return "", apierror.Idempotency("Idempotency Key must be at most %d characters long, but is %d.", longest,
			utf8.RuneCountInString(key))
	case !publishable && strings.HasPrefix(key, apirequest.BrowserKeys):
		return "", apierror.Idempotency("Idempotency Keys that begin with '%s' are reserved for requests with a "+
			"publishable key.", apirequest.BrowserKeys)
	case strings.HasPrefix(key, apirequest.JobKeys):
		return "", apierror.Idempotency("Idempotency Keys that begin with '%s' are reserved.", apirequest.JobKeys)
	case !printable(key):
		return "", apierror.Idempotency("Idempotency Key must be UTF-8 text without control characters.")
	}
	return key, nil
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// body reads a request's form, which a GET or DELETE may have, too: "curl -X DELETE -d"
// sends one. Nothing but a form is parsed, and nothing is inflated.
func (s *Server) body(c echo.Context) (string, error) {
	h := c.Request()
	if coding := h.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return "", tooLarge(http.StatusUnsupportedMediaType, "Compressed request bodies are not accepted.")
	}
	raw, err := io.ReadAll(http.MaxBytesReader(c.Response(), h.Body, int64(s.limits.BodyBytes)))
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return "", tooLarge(http.StatusRequestEntityTooLarge,
			"The request's body is too large: at most %d bytes are accepted.", s.limits.BodyBytes)
	}
	if err != nil {
		return "", apierror.Invalid("", "The request's body could not be read.")
	}
	if len(raw) == 0 {
		return "", nil
	}
	mediaType, _, err := mime.ParseMediaType(h.Header.Get("Content-Type"))
	if err != nil || mediaType != "application/x-www-form-urlencoded" {
		return "", apierror.Invalid("",
			"Invalid request (check that your POST content type is application/x-www-form-urlencoded). "+
				"If you have any questions, we can help at https://support.stripe.com/.")
	}
	return string(raw), nil
}

// pathParam is a parameter of the path; "id" is the last one.
func (r *request) pathParam(name string) string {
	for i, n := range r.names {
		if n == name {
			return r.params[i]
		}
	}
	return r.params[len(r.params)-1]
}

func (r *request) principal() resource.Principal {
	return resource.Principal{
		AccountID:   r.credential.AccountID,
		Livemode:    r.credential.Livemode,
		CardKey:     r.cardKey,
		Publishable: r.publishable(),
		Key:         r.credential.Display,
		Version:     r.version,
	}
}

func (r *request) publishable() bool { return r.credential.Kind == apikey.Publishable }

// storedKey is what the request is kept under. A visitor of a shop's page has its
// publishable key, so browsers have their own space of keys: they neither take a
// key that the merchant's server will want nor learn what it was used for.
func (r *request) storedKey() string {
	if r.key == "" || !r.publishable() {
		return r.key
	}
	return apirequest.BrowserKeys + r.key
}

func (r *request) engineRequest(s *Server) phase.Request {
	version, fingerprint, otherwise := r.fingerprints(s.idempotencyKeys)
	caller := apirequest.Context{APIVersion: r.version, Publishable: r.publishable(), BaseURL: s.baseURL(r.http),
		Notified: s.acceptsNotifications(), Merchant: r.credential.Merchant}.By(r.credential.KeyID, r.address())
	caller.Client = clientName(r.http)
	return phase.Request{
		Caller: phase.Caller{
			AccountID: r.credential.AccountID, Livemode: r.credential.Livemode, RequestID: r.id, Key: r.storedKey(),
			Caller: caller,
		},
		Method: r.http.Method, Path: r.http.URL.Path,
		Fingerprint: fingerprint, FingerprintVersion: version, Otherwise: otherwise,
		Wait: prefer(r.http.Header),
	}
}

// fingerprints are what the request is compared by, under the newest key and under the others.
func (r *request) fingerprints(keys secret.Keys) (version int16, newest []byte, otherwise [][]byte) {
	canonical := form.Canonical(r.values)
	under := func(key []byte) []byte {
		return idempotency.Fingerprint(key, r.http.Method, r.http.URL.Path, canonical)
	}
	version, key := keys.Newest()
	for _, other := range keys.All() {
		if !bytes.Equal(other, key) {
			otherwise = append(otherwise, under(other))
		}
	}
	return version, under(key), otherwise
}

// address is the peer's, or that of a trusted proxy's client.
func (r *request) address() string { return peer(r.http.RemoteAddr) }

// secretLike is a key of the API or a webhook's secret, and what follows the name of an HTTP authentication scheme.
var secretLike = regexp.MustCompile(`(?i)\b(?:[sprk]k_(?:test|live)|whsec)_\S+|\b(?:bearer|basic)\s+\S+`)

// clientName is the User-Agent as it is kept with the request: cut, without secrets, and hidden if a card number is in
// it.
func clientName(h *http.Request) string {
	name := h.UserAgent()
	if testcard.Mentions(name) {
		return form.Hidden
	}
	return form.Quote(secretLike.ReplaceAllLiteralString(name, form.Hidden))
}

func peer(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return ""
	}
	return host
}
