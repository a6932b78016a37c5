package wire_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/wire"
)

func TestEncode(t *testing.T) {
	t.Parallel()

	t.Run("an object is indented by two spaces and ends in a line break", func(t *testing.T) {
		t.Parallel()
		got, err := wire.Encode(
			json.RawMessage(`{"id":"cus_1","data":[],"metadata":{},"list":[1,{"a":null}],"text":"a:b,c"}`))
		if err != nil {
			t.Fatal(err)
		}
		const want = `{
  "id": "cus_1",
  "data": [],
  "metadata": {},
  "list": [
    1,
    {
      "a": null
    }
  ],
  "text": "a:b,c"
}
`
		if string(got) != want {
			t.Errorf("got %s", got)
		}
	})

	t.Run("what JSON cannot say is an error", func(t *testing.T) {
		t.Parallel()
		if _, err := wire.Encode(func() {}); err == nil {
			t.Error("a function was encoded")
		}
	})
}

// FuzzEncode compares the indentation with the standard library's, which reads the
// JSON it indents.
func FuzzEncode(f *testing.F) {
	f.Add(charge)
	for _, seed := range []string{`[]`, `{}`, `[{},[[]]]`, `"a\\"`, `{"a\"b":"\\\"","c":[1.5e3,true,null]}`,
		`{"a":"{[,:]}"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		got, err := wire.Encode(json.RawMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		compact, err := json.Marshal(json.RawMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := json.Indent(&want, compact, "", "  "); err != nil {
			t.Fatal(err)
		}
		if string(got) != want.String()+"\n" {
			t.Errorf("%s became %s, want %s", text, got, want.String())
		}
	})
}

//go:embed testdata/charge.json
var charge []byte

// BenchmarkEncode says what indenting adds to the bytes and the time of an answer.
func BenchmarkEncode(b *testing.B) {
	var object struct {
		ID      string         `json:"id"`
		Details map[string]any `json:"details"`
	}
	if err := json.Unmarshal(charge, &object.Details); err != nil {
		b.Fatal(err)
	}
	for name, encode := range map[string]func(any) ([]byte, error){"compact": json.Marshal, "indented": wire.Encode} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				body, err := encode(object)
				if err != nil {
					b.Fatal(err)
				}
				size = len(body)
			}
			b.ReportMetric(float64(size), "bytes/answer")
		})
	}
}
