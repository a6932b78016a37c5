package phase

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestWithoutNulls(t *testing.T) {
	for object, want := range map[string]string{
		`{}`:                                 `{}`,
		`{"a":null}`:                         `{}`,
		`{"a":null,"b":1}`:                   `{"b":1}`,
		`{"a":1,"b":null}`:                   `{"a":1}`,
		`{"a":"null","b":":null"}`:           `{"a":"null","b":":null"}`,
		`{"a":"\",\"b\":null","c":null}`:     `{"a":"\",\"b\":null"}`,
		`{"metadata":{"x":null},"b":[null]}`: `{"metadata":{"x":null},"b":[null]}`, // here null unsets a key
		`null`:                               `null`,
	} {
		if got := string(withoutNulls([]byte(object))); got != want {
			t.Errorf("%s became %s, want %s", object, got, want)
		}
	}
}

// TestWithoutNullsKeepsTheRest compares with an object from which a map's keys were deleted.
func TestWithoutNullsKeepsTheRest(t *testing.T) {
	value := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.String(), toAny), rapid.Map(rapid.Float64(), toAny),
		rapid.Map(rapid.MapOf(rapid.String(), rapid.Just[any](nil)), toAny),
		rapid.Map(rapid.SliceOf(rapid.String()), toAny))
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOf(rapid.String(), value).Draw(t, "object")
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		var want, got map[string]any
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		for name, value := range want {
			if value == nil {
				delete(want, name)
			}
		}
		shorter := withoutNulls(text)
		if err := json.Unmarshal(shorter, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s became %s (%v)", text, shorter, err)
		}
	})
}

func toAny[T any](v T) any { return v }
