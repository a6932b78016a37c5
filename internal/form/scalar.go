package form

import (
	"encoding"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ratchet-pay/ratchet/internal/apierror"
)

// scalar is the text at hand, if it is one and, unless it may be unset, not empty.
func (d *decoder) scalar(f *field, n *node, wanted string) (string, bool) {
	switch {
	case n.kind == hashKind:
		d.invalidf("Invalid %s: {…}", wanted)
	case n.kind == listKind:
		d.invalidf("Invalid %s: […]", wanted)
	case n.text == "" && !f.unset:
		d.refuseEmpty()
	default:
		return n.text, true
	}
	return "", false
}

func setString(d *decoder, f *field, n *node, into reflect.Value) {
	s, ok := d.scalar(f, n, "string")
	if !ok {
		return
	}
	// A text of few bytes has few characters: most need no counting.
	if f.hasMax && int64(len(s)) > f.max && int64(utf8.RuneCountInString(s)) > f.max {
		d.invalidf("Invalid string: %s; must be at most %d characters", start(s), f.max)
		return
	}
	if lower := strings.ToLower(s); (s == "True" || s == "False") && slices.Contains(f.enum, lower) {
		s, n.text = lower, lower // off_session, which may be a boolean: see setBool
	}
	if f.enum != nil && s != "" && !slices.Contains(f.enum, s) {
		d.invalidf("Invalid %s: must be one of %s", d.at(), oneOf(f.enum))
		return
	}
	into.SetString(s)
}

// start is the beginning of a text that is too long to be repeated.
func start(s string) string {
	quoted := []rune(strings.TrimSuffix(Quote(s), "…"))
	return string(quoted[:min(len(quoted), 32)]) + "…"
}

// oneOf is how Stripe lists what is allowed: a, b, or c.
func oneOf(allowed []string) string {
	last := len(allowed) - 1
	switch last {
	case 0:
		return allowed[0]
	case 1:
		return allowed[0] + " or " + allowed[1]
	default:
		return strings.Join(allowed[:last], ", ") + ", or " + allowed[last]
	}
}

// setBool reads a boolean. "True" and "False" are how stripe-python before 12.0.1
// wrote them. They mean the same as "true" and "false", so the tree keeps the
// lower-case word: a retry from a newer SDK has the same canonical parameters.
func setBool(d *decoder, f *field, n *node, into reflect.Value) {
	s, ok := d.scalar(f, n, "boolean")
	if !ok {
		return
	}
	switch s {
	case "True", "False":
		n.text = strings.ToLower(s)
	case "true", "false":
	default:
		d.invalidf("Invalid boolean: %s", Quote(s))
		return
	}
	into.SetBool(n.text == "true")
}

func setInteger(d *decoder, f *field, n *node, into reflect.Value) {
	s, ok := d.scalar(f, n, "integer")
	if !ok {
		return
	}
	i, ok := integer(s)
	switch {
	case !ok || into.OverflowInt(i):
		d.refuseInteger("Invalid integer: %s", Quote(s))
	case f.hasMin && i < f.min:
		d.refuseInteger("%s", tooSmall(i, f.min))
	case f.hasMax && i > f.max:
		d.refuseInteger("This value must be less than or equal to %d (it currently is %s).", f.max, quoteInteger(i))
	default:
		into.SetInt(i)
	}
}

func (d *decoder) refuseInteger(format string, args ...any) {
	d.refuse(apierror.Invalid(Quote(d.at()), format, args...).WithCode("parameter_invalid_integer"))
}

func tooSmall(i, least int64) string {
	switch least {
	case 0:
		return "Invalid non-negative integer"
	case 1:
		return "Invalid positive integer"
	default:
		return "This value must be greater than or equal to " + strconv.FormatInt(least, 10) +
			" (it currently is " + quoteInteger(i) + ")."
	}
}

// quoteInteger hides a number that is as long as a card's, like all that is repeated.
func quoteInteger(i int64) string { return Quote(strconv.FormatInt(i, 10)) }

// integer reads ASCII digits with perhaps a minus sign. A plus sign is refused:
// sent plain it decodes to a space, so a client that meant it does not get it either way.
func integer(s string) (int64, bool) {
	if strings.HasPrefix(s, "+") {
		return 0, false
	}
	i, err := strconv.ParseInt(s, 10, 64)
	return i, err == nil
}

// setText is for types that read themselves from text. What they read is not
// repeated in a message, since such a type is likely to be one that hides it.
func setText(d *decoder, f *field, n *node, into reflect.Value) {
	s, ok := d.scalar(f, n, "string")
	if !ok {
		return
	}
	err := into.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s))
	if err == nil {
		return
	}
	var fault *apierror.Error
	if !errors.As(err, &fault) {
		d.invalidf("Invalid value")
		return
	}
	if fault.Param == "" {
		fault.WithParam(Quote(d.at()))
	}
	d.refuse(fault)
}
