package form_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
)

type address struct {
	City string  `form:"city" max:"20"`
	Line *string `form:"line1,unset"`
}

type shipping struct {
	Name    string   `form:"name,required"`
	Address *address `form:"address"`
}

type item struct {
	Price    string `form:"price,required"`
	Quantity int    `form:"quantity" min:"1" max:"999"`
}

type paging struct {
	Limit   form.Limit   `form:"limit"`
	Created form.Created `form:"created"`
	Expand  form.Expand  `form:"expand"`
}

// hidden reads itself from text and repeats nothing when it can not.
type hidden struct{ Text string }

func (h *hidden) UnmarshalText(text []byte) error {
	if string(text) == "bad" {
		return errors.New("bad")
	}
	h.Text = string(text)
	return nil
}

func (h hidden) MarshalText() ([]byte, error) { return []byte(h.Text), nil }

type reason string

// params has every kind of field there is.
type params struct {
	Amount      int64         `form:"amount,required" min:"1"`
	Currency    string        `form:"currency,required"`
	Fee         *int64        `form:"fee" min:"0"`
	Month       int           `form:"month" min:"2" max:"12"`
	Capture     *bool         `form:"capture"`
	Confirm     bool          `form:"confirm"`
	Description *string       `form:"description,unset" max:"10"`
	Email       *string       `form:"email"`
	Reason      reason        `form:"reason" enum:"duplicate,fraudulent,requested_by_customer"`
	Usage       string        `form:"usage" enum:"on_session,off_session"`
	Types       []string      `form:"types" max:"3" enum:"card,link"`
	OffSession  string        `form:"off_session" enum:"true,false,recurring"`
	Items       []item        `form:"items"`
	Shipping    *shipping     `form:"shipping,unset"`
	Billing     address       `form:"billing"`
	Number      *hidden       `form:"number"`
	Metadata    form.Metadata `form:"metadata"`
	paging
	Internal string
}

func decode(t testing.TB, raw string) (params, error) {
	t.Helper()
	var got params
	values, err := form.Parse(raw)
	if err != nil {
		return got, err
	}
	return got, form.Decode(values, &got)
}

func mustDecode(t *testing.T, raw string) params {
	t.Helper()
	got, err := decode(t, "amount=1&currency=usd&"+raw)
	if err != nil {
		t.Fatalf("decode %q: %v", raw, err)
	}
	return got
}

func pointer[T any](v T) *T { return &v }

func repeat(n int, pair func(i int) string) string {
	pairs := make([]string, n)
	for i := range pairs {
		pairs[i] = pair(i)
	}
	return strings.Join(pairs, "&")
}

func TestDecode(t *testing.T) {
	t.Parallel()

	t.Run("every kind of field takes what was sent", func(t *testing.T) {
		t.Parallel()
		got, err := decode(t,
			"amount=2000&currency=usd&fee=0&month=12&capture=false&confirm=true&description=tea+%26+cake"+
				"&reason=duplicate&usage=off_session&types[]=card&types[]=link&items[0][price]=price_1"+
				"&items[0][quantity]=3&shipping[name]=Ada&shipping[address][city]=London&billing[city]=Bath"+
				"&number=12&metadata[k]=v&limit=7")
		if err != nil {
			t.Fatal(err)
		}
		want := params{
			Amount:      2000,
			Currency:    "usd",
			Fee:         pointer(int64(0)),
			Month:       12,
			Capture:     pointer(false),
			Confirm:     true,
			Description: pointer("tea & cake"),
			Reason:      "duplicate",
			Usage:       "off_session",
			Types:       []string{"card", "link"},
			Items:       []item{{Price: "price_1", Quantity: 3}},
			Shipping:    &shipping{Name: "Ada", Address: &address{City: "London"}},
			Billing:     address{City: "Bath"},
			Number:      &hidden{"12"},
			Metadata:    form.Metadata{Set: map[string]string{"k": "v"}},
			paging:      paging{Limit: 7},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})

	t.Run("a limit is cut to a page", func(t *testing.T) {
		t.Parallel()
		for sent, want := range map[string]form.Limit{
			"-1":                  1,
			"0":                   1,
			"1":                   1,
			"100":                 100,
			"101":                 100,
			"9223372036854775807": 100,
		} {
			if got := mustDecode(t, "limit="+sent).Limit; got != want {
				t.Errorf("limit=%s: got %d, want %d", sent, got, want)
			}
		}
	})

	t.Run("a boolean may be spelled as Python spells it", func(t *testing.T) {
		t.Parallel()
		got := mustDecode(t, "capture=False&confirm=True&off_session=True")
		if got.Capture == nil || *got.Capture || !got.Confirm || got.OffSession != "true" {
			t.Errorf("capture = %v, confirm = %v, off_session = %q, want false and twice true",
				got.Capture, got.Confirm, got.OffSession)
		}
	})

	t.Run("what was not sent stays nil, and a page has ten objects", func(t *testing.T) {
		t.Parallel()
		want := params{Amount: 1, Currency: "usd", paging: paging{Limit: 10}}
		if got := mustDecode(t, ""); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("an emptied parameter differs from one that was not sent", func(t *testing.T) {
		t.Parallel()
		got := mustDecode(t, "description=&shipping=&types=&metadata=")
		if got.Description == nil || *got.Description != "" {
			t.Errorf("description = %v, want a pointer to nothing", got.Description)
		}
		if got.Shipping == nil || *got.Shipping != (shipping{}) {
			t.Errorf("shipping = %v, want a pointer to nothing", got.Shipping)
		}
		if got.Types == nil || len(got.Types) != 0 {
			t.Errorf("types = %#v, want an empty list", got.Types)
		}
		if !got.Metadata.Clear {
			t.Error("metadata= does not clear")
		}
	})

	t.Run("lists are ordered by index, whatever the gaps, and both spellings mean the same", func(t *testing.T) {
		t.Parallel()
		want := []item{{Price: "a", Quantity: 1}, {Price: "b", Quantity: 2}}
		for _, raw := range []string{
			"items[0][price]=a&items[0][quantity]=1&items[1][price]=b&items[1][quantity]=2",
			"items[99][quantity]=2&items[5][price]=a&items[99][price]=b&items[5][quantity]=1",
			"items[][price]=a&items[][quantity]=1&items[][price]=b&items[][quantity]=2",
			"items[][quantity]=1&items[][price]=a&items[][quantity]=2&items[][price]=b",
		} {
			if got := mustDecode(t, raw); !reflect.DeepEqual(got.Items, want) {
				t.Errorf("%s: got %+v", raw, got.Items)
			}
		}
		for _, raw := range []string{"expand[]=a&expand[]=b", "expand[0]=a&expand[1]=b", "expand[10]=b&expand[2]=a",
			"expand%5B%5D=a&expand%5B%5D=b"} {
			if got := mustDecode(t, raw); !reflect.DeepEqual(got.Expand, form.Expand{"a", "b"}) {
				t.Errorf("%s: got %v", raw, got.Expand)
			}
		}
	})

	t.Run("what was decoded survives JSON", func(t *testing.T) {
		t.Parallel()
		for _, raw := range []string{
			"", "description=&shipping=&types=&metadata=", "metadata[a]=1&metadata[b]=", "created=5",
			"created[gt]=5&created[lte]=9",
			"capture=false&fee=0&expand[]=a&expand[]=b&limit=3&shipping[name]=x&shipping[address][line1]=",
			"items[][price]=a&items[][price]=b&types[]=card&number=1&billing[city]=%F0%9F%8D%B5",
		} {
			before := mustDecode(t, raw)
			stored, err := json.Marshal(before)
			if err != nil {
				t.Fatal(err)
			}
			var after params
			err = json.Unmarshal(stored, &after)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(before, after) {
				t.Errorf("%s: %+v became %+v through %s", raw, before, after, stored)
			}
		}
	})

	t.Run("a name nobody knows is reported before what is missing, and that before what is wrong", func(t *testing.T) {
		t.Parallel()
		_, err := decode(t, "amount=abc&foo=1")
		requireFault(t, err, fault{code: "parameter_unknown", param: "foo", message: "Received unknown parameter: foo"})
		_, err = decode(t, "amount=abc")
		requireFault(t, err,
			fault{code: "parameter_missing", param: "currency", message: "Missing required param: currency."})
		_, err = decode(t, "amount=abc&currency=usd")
		requireFault(t, err, fault{code: "parameter_invalid_integer", param: "amount", message: "Invalid integer: abc"})
	})

	t.Run("a name that Stripe has is reported as unsupported, after those nobody knows", func(t *testing.T) {
		t.Parallel()
		stripes := func(name string) bool { return name == "tip" || name == "items[0][tax]" }
		decode := func(raw string) error {
			values, err := form.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			var into params
			return form.DecodeOf(values, &into, stripes)
		}
		requireFault(t, decode("tip=1"), fault{code: "parameter_unknown", param: "tip",
			message: "This installation does not support the parameter of Stripe's API: tip"})
		requireFault(t, decode("tip=1&items[0][tax]=2"), fault{code: "parameter_unknown", param: "tip",
			message: "This installation does not support the parameters of Stripe's API: tip, items[0][tax]"})
		requireFault(t, decode("tip=1&foo=1"),
			fault{code: "parameter_unknown", param: "foo", message: "Received unknown parameter: foo"})
	})

	t.Run("a struct that can not be decoded into is our mistake, not the caller's", func(t *testing.T) {
		t.Parallel()
		type recursiveMap struct {
			M map[string]string `form:"m"`
		}
		for _, into := range []any{
			nil, params{}, (*params)(nil), new(string), &recursiveMap{},
			&struct {
				A string `form:"a"`
				B string `form:"a"`
			}{},
			&struct {
				A string `form:"a,requierd"`
			}{},
			&struct {
				A *int64 `form:"a,unset"`
			}{},
			&struct {
				A int64 `form:"a" min:"x"`
			}{},
			&struct {
				a string `form:"a"`
			}{},
		} {
			err := form.Decode(form.Values{}, into)
			var spoken *apierror.Error
			if err == nil || errors.As(err, &spoken) {
				t.Errorf("decode into %T: got %v, want an error for us", into, err)
			}
		}
	})
}

func TestCreated(t *testing.T) {
	t.Parallel()
	day := func(s int64) *time.Time { return pointer(time.Unix(s, 0).UTC()) }
	for _, c := range []struct {
		raw      string
		from, to *time.Time
	}{
		{"", nil, nil},
		{"created=5", day(5), day(6)},
		{"created[gte]=5&created[lt]=9", day(5), day(9)},
		{"created[gt]=5&created[lte]=9", day(6), day(10)},
		{"created[gt]=5&created[gte]=9", day(9), nil},
		{"created[lt]=5&created[lte]=9", nil, day(5)},
		{"created=0", day(0), day(1)},
	} {
		from, to := mustDecode(t, c.raw).Created.Between()
		if !reflect.DeepEqual(from, c.from) || !reflect.DeepEqual(to, c.to) {
			t.Errorf("%q is from %v to %v, want %v to %v", c.raw, from, to, c.from, c.to)
		}
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()

	t.Run("a request sets and removes keys and leaves the others", func(t *testing.T) {
		t.Parallel()
		old := map[string]string{"keep": "1", "change": "1", "remove": "1"}
		got, err := mustDecode(t,
			"metadata[change]=2&metadata[remove]=&metadata[new]=3&metadata[0]=zero").Metadata.Apply(old)
		want := map[string]string{"keep": "1", "change": "2", "new": "3", "0": "zero"}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
		if len(old) != 3 || old["change"] != "1" {
			t.Errorf("the old metadata was changed: %v", old)
		}
	})

	t.Run("an empty value for the whole removes every key", func(t *testing.T) {
		t.Parallel()
		got, err := mustDecode(t, "metadata=").Metadata.Apply(map[string]string{"a": "1"})
		if err != nil || got == nil || len(got) != 0 {
			t.Errorf("got %#v, %v; want an empty map", got, err)
		}
	})

	t.Run("names that mean something elsewhere, and any script, are plain keys and values", func(t *testing.T) {
		t.Parallel()
		got := mustDecode(t,
			"metadata[__proto__]=1&metadata[constructor]=2&metadata[a.b]=3&metadata[tea]="+
				url.QueryEscape("🍵 e\u0301 \u202eabc\r\n"))
		want := map[string]string{"__proto__": "1", "constructor": "2", "a.b": "3", "tea": "🍵 e\u0301 \u202eabc\r\n"}
		if !reflect.DeepEqual(got.Metadata.Set, want) {
			t.Errorf("got %q", got.Metadata.Set)
		}
	})

	t.Run("fifty keys are counted after the merge", func(t *testing.T) {
		t.Parallel()
		old := map[string]string{}
		for i := range 50 {
			old[fmt.Sprint("k", i)] = "v"
		}
		_, err := mustDecode(t, "metadata[k0]=&metadata[new]=1").Metadata.Apply(old)
		if err != nil {
			t.Errorf("one key less and one more: %v", err)
		}
		_, err = mustDecode(t, "metadata[new]=1").Metadata.Apply(old)
		requireFault(t, err, fault{
			param:   "metadata",
			message: "You can have up to 50 metadata keys per object, but this request makes it 51.",
		})
	})

	t.Run("lengths are counted in characters", func(t *testing.T) {
		t.Parallel()
		key, value := strings.Repeat("é", 40), strings.Repeat("🍵", 500)
		got := mustDecode(t, "metadata["+key+"]="+value)
		if got.Metadata.Set[key] != value {
			t.Error("40 characters of key and 500 of value were not taken")
		}
	})
}

// BenchmarkCharge is the hot path: what every POST /v1/charges costs here.
func BenchmarkCharge(b *testing.B) {
	const raw = "amount=2000&currency=usd&source=tok_visa&capture=true&description=Order+1234" +
		"&metadata%5Border%5D=1234&receipt_email=ada%40example.com&expand%5B%5D=customer"
	type chargeParams struct {
		Amount       int64         `form:"amount,required" min:"1"`
		Currency     string        `form:"currency,required"`
		Source       string        `form:"source"`
		Customer     string        `form:"customer" max:"500"`
		Capture      *bool         `form:"capture"`
		Description  *string       `form:"description,unset" max:"40000"`
		ReceiptEmail *string       `form:"receipt_email,unset"`
		Shipping     *shipping     `form:"shipping,unset"`
		Metadata     form.Metadata `form:"metadata"`
		Expand       form.Expand   `form:"expand"`
	}
	values, err := form.Parse(raw)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err = form.Parse(raw)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			err = form.Decode(values, &chargeParams{})
		}
	})
	b.Run("canonical", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			form.Canonical(values)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}
