package form_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
)

// fault is the error of a caller. The status is always 400 and the type always
// invalid_request_error; a message that ends in "…" is only its beginning.
type fault struct{ code, param, message string }

func requireFault(t *testing.T, err error, want fault) {
	t.Helper()
	var got *apierror.Error
	if !errors.As(err, &got) {
		t.Fatalf("got %v, want an error for the caller", err)
	}
	if got.Status != http.StatusBadRequest || got.Type != apierror.TypeInvalidRequest {
		t.Errorf("got %d %s, want 400 invalid_request_error", got.Status, got.Type)
	}
	if got.Code != want.code {
		t.Errorf("code = %q, want %q", got.Code, want.code)
	}
	if got.Param != want.param {
		t.Errorf("param = %q, want %q", got.Param, want.param)
	}
	begin, open := strings.CutSuffix(want.message, "…")
	if got.Message != want.message && !(open && strings.HasPrefix(got.Message, begin)) {
		t.Errorf("message = %q, want %q", got.Message, want.message)
	}
}

// refusal is one row of the catalog of bad input. Each is also a seed of the fuzzer.
type refusal struct {
	name string
	raw  string // added to a request that is otherwise complete
	want fault
}

const (
	badInteger = "parameter_invalid_integer"
	badText    = "invalid_characters"
	badName    = "parameter_unknown"
	badEmpty   = "parameter_invalid_empty"
)

var refusals = []refusal{
	{"a thousand pairs are enough", repeat(999, func(i int) string {
		return fmt.Sprintf("metadata[%d]=x", i)
	}), fault{"", "", "Received too many parameters…"}},
	{"brackets nested nine deep", "a[b][c][d][e][f][g][h][i][j]=1",
		fault{"", "a", "Invalid request: parameters can be nested at most 8 levels deep."}},
	{"five thousand brackets", "a" + strings.Repeat("[b]", 5000) + "=1",
		fault{"", "a", "Invalid request: parameters can be nested…"}},
	{"five thousand open brackets", strings.Repeat("[", 5000) + "=1",
		fault{badName, strings.Repeat("[", 64) + "…", "Received unknown parameter: [[[…"}},
	{"an index in the millions", "items[1000000][price]=x", fault{"", "items", "Invalid array"}},
	{"an index written oddly", "items[01][price]=x", fault{"", "items", "Invalid array"}},
	{"a name where an index belongs", "items[first][price]=x", fault{"", "items", "Invalid array"}},
	{"a list too long", repeat(101, func(int) string { return "types[]=card" }),
		fault{"", "types[]", "Invalid array: a list can have at most 100 items"}},
	{"a list longer than its own bound", "types[]=card&types[]=card&types[]=card&types[]=card",
		fault{"", "types", "Invalid array: a list can have at most 3 items"}},
	{"a list of lists", "types[][]=card", fault{"", "types[][]", "Invalid array"}},

	{"one name as text and hash", "a=1&a[b]=2", fault{"", "a[b]", "Invalid hash"}},
	{"one name as hash and text", "metadata[k]=v&metadata=x", fault{"", "metadata", "Invalid hash"}},
	{"one name as text and list", "expand=a&expand[]=b", fault{"", "expand[]", "Invalid array"}},
	{"one name with and without indexes", "expand[0]=a&expand[]=b", fault{"", "expand[]", "Invalid array"}},
	{"a text for a hash", "metadata=x", fault{"", "metadata", "Invalid object"}},
	{"a list for a hash", "shipping[]=x", fault{"", "shipping", "Invalid object"}},
	{"a text for a list", "expand=customer", fault{"", "expand", "Invalid array"}},
	{"a hash for a text", "description[a]=x", fault{"", "description", "Invalid string: {…}"}},
	{"a list for a text", "description[]=x", fault{"", "description", "Invalid string: […]"}},

	{"a bracket left open", "metadata[a=1", fault{badName, "metadata[a", "Received unknown parameter: metadata[a"}},
	{"a bracket inside a bracket", "metadata[a[b]]=1",
		fault{badName, "metadata[a[b]]", "Received unknown parameter: metadata[a[b]]"}},
	{"text after a bracket", "metadata[a]b=1",
		fault{badName, "metadata[a]b", "Received unknown parameter: metadata[a]b"}},
	{"only a closing bracket", "]=", fault{badName, "]", "Received unknown parameter: ]"}},
	{"brackets without a name", "[]=", fault{badName, "[]", "Received unknown parameter: []"}},
	{"no name", "=1", fault{badName, "", "Received unknown parameter: "}},
	{"an unknown name", "foo=1", fault{badName, "foo", "Received unknown parameter: foo"}},
	{"unknown names, the first sent first", "zoo=1&bar=2&shipping[foo]=3",
		fault{badName, "zoo", "Received unknown parameters: zoo, bar, shipping[foo]"}},
	{"unknown names that are long together",
		"shipping[an_option_of_a_newer_library]=x&shipping[another_option_of_it]=1",
		fault{badName, "shipping[an_option_of_a_newer_library]",
			"Received unknown parameters: shipping[an_option_of_a_newer_library], shipping[another_option_of_it]"}},
	{"more unknown names than fit", repeat(10, func(i int) string { return fmt.Sprintf("x%d=1", i) }),
		fault{badName, "x0", "Received unknown parameters: x0, x1, x2, x3, x4, x5, x6, x7, …"}},
	{"an unknown name in a hash", "shipping[foo]=1&shipping[name]=x",
		fault{badName, "shipping[foo]", "Received unknown parameter: shipping[foo]"}},
	{"an unknown name in a list of hashes", "items[0][price]=1&items[1][foo]=x",
		fault{badName, "items[1][foo]", "Received unknown parameter: items[1][foo]"}},
	{"an unknown bound of a time", "created[foo]=1",
		fault{badName, "created[foo]", "Received unknown parameter: created[foo]"}},
	{"names are case-sensitive", "Capture=true", fault{badName, "Capture", "Received unknown parameter: Capture"}},

	{"a text twice", "capture=true&capture=true", fault{"", "capture", "Received the same parameter more than once."}},
	{"an amount twice", "amount=2", fault{"", "amount", "Received the same parameter more than once."}},
	{"the same index twice", "expand[0]=a&expand[0]=b",
		fault{"", "expand[0]", "Received the same parameter more than once."}},

	{"an escape that is none", "description=%zz", fault{"", "description", "Invalid percent-encoding: %zz"}},
	{"a percent sign at the end", "description=50%", fault{"", "description", "Invalid percent-encoding: %"}},
	{"half an escape in a name", "descr%4=1", fault{"", "", "Invalid percent-encoding: %4"}},
	{"a semicolon between pairs", "capture=true;confirm=true", fault{"", "capture", "Invalid request: a semicolon…"}},
	{"a NUL in a value", "description=a%00b", fault{badText, "description", "Invalid characters…"}},
	{"a NUL in a name", "metadata[a%00]=b", fault{badText, "metadata[a\uFFFD]", "Invalid characters…"}},
	{"a NUL as it is", "description=a\x00b", fault{badText, "description", "Invalid characters…"}},
	{"bytes that are not UTF-8", "description=%ff%fe", fault{badText, "description", "Invalid characters…"}},
	{"half a surrogate pair", "description=%ED%A0%80", fault{badText, "description", "Invalid characters…"}},
	{"a letter cut short", "description=\xe2\x82", fault{badText, "description", "Invalid characters…"}},

	{"nothing for an integer", "fee=",
		fault{badEmpty, "fee",
			"You passed an empty string for 'fee'. We assume empty values are an attempt to unset a parameter; " +
				"however 'fee' cannot be unset. You should remove 'fee' from your request or supply a non-empty " +
				"value."}},
	{"nothing for a boolean", "capture=", fault{badEmpty, "capture", "You passed an empty string…"}},
	{"nothing for a text that has to be something", "email=", fault{badEmpty, "email", "You passed an empty string…"}},
	{"nothing for a hash that can not be unset", "billing=", fault{badEmpty, "billing", "You passed an empty string…"}},
	{"nothing in a list", "expand[]=", fault{badEmpty, "expand[0]", "You passed an empty string…"}},
	{"nothing for a card number", "number=", fault{badEmpty, "number", "You passed an empty string…"}},

	{"letters for an integer", "fee=abc", fault{badInteger, "fee", "Invalid integer: abc"}},
	{"a fraction for an integer", "fee=10.5", fault{badInteger, "fee", "Invalid integer: 10.5"}},
	{"an exponent", "fee=1e3", fault{badInteger, "fee", "Invalid integer: 1e3"}},
	{"a hexadecimal number", "fee=0x10", fault{badInteger, "fee", "Invalid integer: 0x10"}},
	{"a plus sign, which is a space", "fee=+5", fault{badInteger, "fee", "Invalid integer:  5"}},
	{"a plus sign, escaped", "fee=%2B5", fault{badInteger, "fee", "Invalid integer: +5"}},
	{"a space after the number", "fee=5%20", fault{badInteger, "fee", "Invalid integer: 5 "}},
	{"an underscore between digits", "fee=1_000", fault{badInteger, "fee", "Invalid integer: 1_000"}},
	{"digits that are not ASCII", "fee=٣", fault{badInteger, "fee", "Invalid integer: ٣"}},
	{"one more than an integer holds", "fee=9223372036854775808",
		fault{badInteger, "fee", "Invalid integer: [digits hidden]"}},
	{"less than nothing", "fee=-1", fault{badInteger, "fee", "Invalid non-negative integer"}},
	{"nothing of an item", "items[0][price]=x&items[0][quantity]=0",
		fault{badInteger, "items[0][quantity]", "Invalid positive integer"}},
	{"too much of an item", "items[0][price]=x&items[0][quantity]=1000",
		fault{badInteger, "items[0][quantity]",
			"This value must be less than or equal to 999 (it currently is 1000)."}},
	{"less than the least", "month=1",
		fault{badInteger, "month", "This value must be greater than or equal to 2 (it currently is 1)."}},
	{"a hash for an integer", "fee[a]=1", fault{"", "fee", "Invalid integer: {…}"}},
	{"a word for a boolean", "capture=yes", fault{"", "capture", "Invalid boolean: yes"}},
	{"a boolean all in capital letters", "capture=TRUE", fault{"", "capture", "Invalid boolean: TRUE"}},
	{"a digit for a boolean", "capture=1", fault{"", "capture", "Invalid boolean: 1"}},

	{"a text too long", "description=12345678901",
		fault{"", "description", "Invalid string: 12345678901…; must be at most 10 characters"}},
	{"not one of three", "reason=bored",
		fault{"", "reason", "Invalid reason: must be one of duplicate, fraudulent, or requested_by_customer"}},
	{"not one of two", "usage=x", fault{"", "usage", "Invalid usage: must be one of on_session or off_session"}},
	{"not one of two, in a list", "types[]=card&types[]=cash",
		fault{"", "types[1]", "Invalid types[1]: must be one of card or link"}},
	{"a part of a hash missing", "shipping[address][city]=x",
		fault{"parameter_missing", "shipping[name]", "Missing required param: shipping[name]."}},
	{"a text that its type refuses", "number=bad", fault{"", "number", "Invalid value"}},

	{"too many metadata keys", repeat(51, func(i int) string {
		return fmt.Sprintf("metadata[%d]=x", i)
	}), fault{"", "metadata", "You can have up to 50 metadata keys per object…"}},
	{"a metadata key too long", "metadata[" + strings.Repeat("é", 41) + "]=x",
		fault{"", "metadata",
			"Metadata keys can have up to 40 characters, but you passed in a key that is 41 characters. Invalid key: " +
				"é…"}},
	{"a metadata value too long", "metadata[k]=" + strings.Repeat("é", 501),
		fault{"", "metadata",
			"Metadata values can have up to 500 characters, but you passed in a value that is 501 characters. " +
				"Invalid value: é…"}},
	{"a metadata value that is a hash", "metadata[a][b]=1", fault{"", "metadata[a]", "Invalid string: {…}"}},
	{"metadata as a list", "metadata[]=1", fault{"", "metadata", "Invalid object"}},

	{"an expansion too deep", "expand[]=a.b.c.d.e",
		fault{"property_expansion_max_depth", "",
			"You cannot expand more than 4 levels of a property. Property: a.b.c.d.e"}},
	{"two hundred expansions", repeat(200, func(i int) string {
		return fmt.Sprintf("expand[%d]=a", i)
	}), fault{"", "expand", "Invalid array"}},
	{"an expansion that is a hash", "expand[0][a]=x", fault{"", "expand[0]", "Invalid string: {…}"}},
	{"a page of letters", "limit=x", fault{badInteger, "limit", "Invalid integer: x"}},
	{"a time that is none", "created[gte]=abc", fault{badInteger, "created[gte]", "Invalid integer: abc"}},
	{"a time after everything", "created=1" + strings.Repeat("0", 30),
		fault{badInteger, "created", "Invalid integer: [digits hidden]"}},
	{"a time no calendar has", "created[lt]=253402300800",
		fault{badInteger, "created[lt]", "This value must be less than or equal to 253402300799…"}},
	{"a time before time", "created=-1", fault{badInteger, "created", "Invalid non-negative integer"}},
}

func TestBadInputIsRefused(t *testing.T) {
	t.Parallel()
	for _, r := range refusals {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			_, err := decode(t, "amount=1&currency=usd&"+r.raw)
			requireFault(t, err, r.want)
		})
	}

	t.Run("an amount has to be sent", func(t *testing.T) {
		t.Parallel()
		_, err := decode(t, "currency=usd")
		requireFault(t, err, fault{"parameter_missing", "amount", "Missing required param: amount."})
		_, err = decode(t, "amount=&currency=usd")
		requireFault(t, err, fault{badEmpty, "amount", "You passed an empty string…"})
		_, err = decode(t, "amount=0&currency=usd")
		requireFault(t, err, fault{badInteger, "amount", "Invalid positive integer"})
	})
}

func TestMessagesRepeatLittleAndNoCardNumbers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	for _, number := range []string{"123456789012", "1234567890123456", "1234567890123456789", "1234-5678-9012-3456",
		"1234 5678 9012 3456", "1234%205678%209012%203456"} {
		for _, raw := range []string{
			number + "=1", number + "[=1", "amount=" + number + "x", "capture=" + number, "description=" + number,
			"usage=" + number, "a=" + number + ";b", "metadata[k]=" + number + long,
			"metadata[" + number + long + "]=1", "expand[]=a.b.c.d." + number, "shipping[" + number + "]=1",
			"limit=" + number, "created=-" + number, number + "=%ff", "x" + number + "=1&x" + number + "[a]=1",
		} {
			_, err := decode(t, raw)
			if err == nil {
				t.Errorf("%q was taken", excerpt(raw))
				continue
			}
			requireDiscreet(t, err)
			if digits := digitsOf(err.Error()); strings.Contains(digits, "123456789012") {
				t.Errorf("%q: the number is repeated in %q", excerpt(raw), err)
			}
		}
	}
}

// requireDiscreet holds for any error: it never repeats much input. The longest
// fixed text of ours has under 300 characters and names the parameter three times.
func requireDiscreet(t *testing.T, err error) {
	t.Helper()
	var spoken *apierror.Error
	if !errors.As(err, &spoken) {
		t.Fatalf("got %v, want an error for the caller", err)
	}
	if len([]rune(spoken.Message)) > 300+3*65 || len([]rune(spoken.Param)) > 65 {
		t.Errorf("an error repeats too much: %q (%q)", spoken.Message, spoken.Param)
	}
}

func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return r
		}
		if strings.ContainsRune(" -.", r) {
			return -1
		}
		return '|'
	}, s)
}

func excerpt(s string) string { return s[:min(len(s), 80)] }

func TestValuesDoNotPrintWhatTheyHold(t *testing.T) {
	t.Parallel()
	values, err := form.Parse("card[number]=1234567890123456")
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if printed := fmt.Sprintf(verb, values); printed != "[form values]" {
			t.Errorf("%s prints %s", verb, printed)
		}
	}
}
