package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/locale"
	"github.com/ratchet-pay/ratchet/internal/money"
)

// functions are what every template may call.
func (s *Site) functions() template.FuncMap {
	return template.FuncMap{
		"asset":       s.asset,
		"icon":        icon,
		"money":       money.Format,
		"upper":       strings.ToUpper,
		"brand":       Brand,
		"words":       Words,
		"soft":        soft,
		"took":        took,
		"plainly":     plainly,
		"iso":         func(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) },
		"moment":      moment,
		"date":        func(at time.Time) string { return date(at, time.Now()) },
		"ago":         func(at time.Time) string { return ago(at, time.Now()) },
		"day":         func(at time.Time) string { return at.UTC().Format("January 2, 2006") },
		"clock":       func(at time.Time) string { return at.UTC().Format("15:04:05.000") },
		"deref":       deref,
		"pretty":      pretty,
		"pretty_text": func(text string) string { return pretty([]byte(text)) },
		"deref16":     value[int16],
		"deref32":     value[int32],
		"deref64":     value[int64],
		"deref_time":  value[time.Time],
		"add":         func(a, b int) int { return a + b },
		"sub":         func(a, b int) int { return a - b },
		"mul":         func(a, b int) int { return a * b },
		"metadata":    Metadata,
		"lineicon":    lineIcon,
		"href":        Href,
		"badge":       badgeOf,
		"disputed":    disputeBadge,
		"list":        func(items ...any) []any { return items },

		"drawing": drawing,

		"say":  locale.English.Say,
		"lang": func() string { return locale.English.Code },
	}
}

// speech are the functions whose result depends on the language of a page.
func speech(l *locale.Language) template.FuncMap {
	return template.FuncMap{
		"say":   l.Say,
		"lang":  func() string { return l.Code },
		"money": l.Money,
		"day":   l.Day,
	}
}

// Words writes a name of the code for people: charge_recorded, charge recorded.
func Words(name string) string {
	if name == "stripe_fee" {
		return "fee" // Stripe's word for what the processor keeps; here, that is us
	}
	return strings.NewReplacer("_", " ", ".", " ").Replace(name)
}

// soft lets a long name or path break where one of its words ends.
func soft(name string) template.HTML {
	return template.HTML(strings.NewReplacer(".", ".<wbr>", "_", "_<wbr>", "/", "/<wbr>").
		Replace(template.HTMLEscapeString(name)))
}

// took formats a duration. If something began and ended in one transaction, both times
// are the transaction's, and its duration is unknown.
func took(ms any) string {
	var n float64
	switch ms := ms.(type) {
	case *int32:
		n = float64(*ms)
	case *float64:
		n = *ms
		if n == 0 {
			return "–"
		}
	}
	if n < 1 {
		return "<1 ms"
	}
	return fmt.Sprintf("%.0f ms", n)
}

// plainly says in plain words why a connection failed. The program's own message
// begins with the system call.
func plainly(fault string) string {
	for _, known := range [][2]string{{"connection refused", "Connection refused"}, {"no such host", "Host not found"},
		{"deadline exceeded", "Timed out"}, {"Client.Timeout", "Timed out"}, {"connection reset", "Connection reset"}} {
		if strings.Contains(fault, known[0]) {
			return known[1]
		}
	}
	return fault
}

// Brand writes a card's brand as its owner does.
func Brand(name string) string {
	if known, is := brands[name]; is {
		return known
	}
	return Words(name)
}

var brands = map[string]string{
	"visa":             "Visa",
	"mastercard":       "Mastercard",
	"amex":             "American Express",
	"discover":         "Discover",
	"diners":           "Diners Club",
	"jcb":              "JCB",
	"unionpay":         "UnionPay",
	"eftpos_au":        "eftpos",
	"cartes_bancaires": "Cartes Bancaires",
}

func deref(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// lineIcons are the marks of a timeline, by the kind of its lines.
var lineIcons = map[string]string{
	"request":  "send",
	"phase":    "check",
	"death":    "crash",
	"stall":    "clock",
	"refused":  "shield",
	"takeover": "repeat",
	"call":     "arrow",
	"acquirer": "bank",
	"entry":    "book",
	"event":    "bolt",
	"answer":   "flag",
	"delivery": "send",
	"operator": "hand",
}

func lineIcon(kind any) string { return lineIcons[fmt.Sprint(kind)] }

func pretty(body []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, body, "", "  ") != nil {
		return string(body)
	}
	return strings.TrimSpace(out.String())
}

// Entry is a key of an object's metadata, and its value.
type Entry struct{ Name, Value string }

// Metadata are the entries of an object's metadata, sorted by name.
func Metadata(text json.RawMessage) (all []Entry) {
	var entries map[string]string
	if json.Unmarshal(text, &entries) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		all = append(all, Entry{name, entries[name]})
	}
	return all
}

// pages of the objects that ids name, by the ids' prefixes.
var pagesOf = map[string]string{
	"ch":     "/dashboard/payments/",
	"pi":     "/dashboard/payments/",
	"re":     "/dashboard/search?q=",
	"seti":   "/dashboard/search?q=",
	"setatt": "/dashboard/search?q=",
	"cs":     "/dashboard/checkout/",
	"cus":    "/dashboard/customers/",
	"pm":     "/dashboard/search?q=",
	"card":   "/dashboard/search?q=",
	"clock":  "/dashboard/search?q=",
	"prod":   "/dashboard/products/",
	"price":  "/dashboard/prices/",
	"plink":  "/dashboard/links/",
	"du":     "/dashboard/disputes/",
	"po":     "/dashboard/payouts/",
	"evt":    "/dashboard/events/",
	"we":     "/dashboard/webhooks/",
	"wh":     "/dashboard/webhooks/", // a session of "stripe listen"
	"req":    "/dashboard/requests/",
	"txn":    "/dashboard/ledger/",
}

// Href is the page of the object that an id names, or "" if it has none.
func Href(id string) string {
	prefix, _, _ := strings.Cut(id, "_")
	page, known := pagesOf[prefix]
	if !known {
		return ""
	}
	return page + id
}

// Badge is a state for people: a word, a shape and a tone.
type Badge struct{ Tone, Icon, Word string }

var badges = map[string]Badge{
	"succeeded":              {"good", "check", "Succeeded"},
	"refunded":               {"", "return", "Refunded"},
	"partly_refunded":        {"info", "return", "Partially refunded"},
	"uncaptured":             {"warn", "clock", "Uncaptured"},
	"released":               {"", "return", "Released"},
	"pending":                {"info", "clock", "Pending"},
	"failed":                 {"bad", "cross", "Failed"},
	"running":                {"info", "play", "Running"},
	"parked":                 {"warn", "clock", "Waiting to retry"},
	"needs_review":           {"bad", "hand", "Needs review"},
	"finished":               {"good", "check", "Finished"},
	"archived":               {"", "box", "Archived"},
	"executed":               {"good", "check", "Executed"},
	"not_executed":           {"", "cross", "Not executed"},
	"unknown":                {"warn", "question", "Unknown"},
	"alive":                  {"good", "check", "Running"},
	"dead":                   {"bad", "crash", "Stopped"},
	"orphaned":               {"bad", "crash", "Interrupted"},
	"active":                 {"good", "check", "Active"},
	"inactive":               {"", "cross", "Inactive"},
	"ended":                  {"", "cross", "Expired"},
	"deleted":                {"", "cross", "Deleted"},
	"incomplete":             {"", "clock", "Incomplete"},
	"canceled":               {"", "cross", "Canceled"},
	"enabled":                {"good", "check", "Enabled"},
	"disabled":               {"", "cross", "Disabled"},
	"failing":                {"bad", "warning", "Failing"},
	"open":                   {"info", "clock", "Open"},
	"complete":               {"good", "check", "Complete"},
	"expired":                {"", "cross", "Expired"},
	"paid":                   {"good", "check", "Paid"},
	"unpaid":                 {"warn", "clock", "Unpaid"},
	"no_payment_required":    {"", "check", "Nothing to pay"},
	"in_transit":             {"info", "arrow", "In transit"},
	"ready":                  {"good", "check", "Ready"},
	"advancing":              {"info", "play", "Advancing"},
	"needs_response":         {"bad", "warning", "Needs response"},
	"warning_needs_response": {"warn", "question", "Inquiry needs response"},
	"under_review":           {"info", "clock", "Under review"},
	"warning_under_review":   {"info", "clock", "Inquiry under review"},
	"warning_closed":         {"", "check", "Inquiry closed"},
	"won":                    {"good", "check", "Won"},
	"lost":                   {"bad", "cross", "Lost"},
	"waiting":                {"info", "clock", "Waiting"},
}

// StateWord is what a badge says of a state.
func StateWord(state string) string { return badgeOf(state).Word }

// disputeBadge is what a payment says of its dispute, next to its own state.
func disputeBadge(status string) Badge {
	b := badgeOf(status)
	if status == "won" || status == "lost" {
		b.Word = "Dispute " + status
	}
	return b
}

func badgeOf(state string) Badge {
	if b, known := badges[state]; known {
		return b
	}
	return Badge{Word: Words(state)}
}

// drawing is a picture of something the shop sells, for the eye only.
func drawing(name string) (template.HTML, error) {
	drawn, known := drawings[name]
	if !known {
		return "", fmt.Errorf("there is no drawing %q", name)
	}
	return template.HTML(`<svg class="drawing" aria-hidden="true" viewBox="0 0 160 120" fill="none"` +
		` stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round">` + drawn + `</svg>`), nil
}

// icon draws one of the icons of icons.go, for the eye only.
func icon(name string) (template.HTML, error) {
	drawn, known := icons[name]
	if !known {
		return "", fmt.Errorf("there is no icon %q", name)
	}
	return template.HTML(`<svg class="icon" aria-hidden="true" width="18" height="18" viewBox="0 0 24 24" fill="none"` +
		` stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round">` +
		drawn + `</svg>`), nil
}
