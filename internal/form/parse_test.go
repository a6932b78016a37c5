package form_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
)

func parse(t *testing.T, raw string) form.Values {
	t.Helper()
	values, err := form.Parse(raw)
	if err != nil {
		t.Fatalf("parse %q: %v", excerpt(raw), err)
	}
	return values
}

func TestParse(t *testing.T) {
	t.Parallel()
	type hash = map[string]any
	type list = []any
	for _, c := range []struct {
		name string
		raw  string
		want hash
	}{
		{"nothing is a request without parameters", "", hash{}},
		{"empty pairs do not count", "&&a=1&", hash{"a": "1"}},
		{"a name without a value is empty", "a&b=", hash{"a": "", "b": ""}},
		{"only the first equals sign divides", "a=b=c", hash{"a": "b=c"}},
		{"a space is a plus or an escape", "a=x+y%20z", hash{"a": "x y z"}},
		{"brackets may be escaped", "a%5Bb%5D=1&a[c]=2", hash{"a": hash{"b": "1", "c": "2"}}},
		{"dots are ordinary", "metadata[a.b]=1", hash{"metadata": hash{"a.b": "1"}}},
		{"an escaped semicolon is text", "a=1%3B2", hash{"a": "1;2"}},
		{"items keep their order", "a[]=2&a[]=1", hash{"a": list{"2", "1"}}},
		{"an index is a name until someone wants a list", "a[0]=x", hash{"a": hash{"0": "x"}}},
		{"hashes in a list end where a name comes again", "a[][x]=1&a[][y]=2&a[][x]=3",
			hash{"a": list{hash{"x": "1", "y": "2"}, hash{"x": "3"}}}},
		{"deep names come again too", "a[][x][p]=1&a[][x][q]=2&a[][x][p]=3",
			hash{"a": list{hash{"x": hash{"p": "1", "q": "2"}}, hash{"x": hash{"p": "3"}}}}},
		{"a list inside a hash of a list goes on", "a[][x][]=1&a[][x][]=2", hash{"a": list{hash{"x": list{"1", "2"}}}}},
		{"eight levels are fine", "a[b][c][d][e][f][g][h][i]=1",
			hash{"a": hash{"b": hash{"c": hash{"d": hash{"e": hash{"f": hash{"g": hash{"h": hash{"i": "1"}}}}}}}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			encoded := form.Canonical(parse(t, c.raw))
			if got := readCanonical(t, encoded); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}

	t.Run("a thousand pairs are taken", func(t *testing.T) {
		t.Parallel()
		values := parse(t, repeat(form.MaxPairs, func(i int) string { return fmt.Sprintf("k%d=x", i) }))
		if values.Len() != form.MaxPairs || !values.Has("k999") || values.Has("k1000") {
			t.Errorf("%d names came through", values.Len())
		}
	})
}

// The worst requests we could think of, four times as long as a body may be.
// They take a fraction of a second; the bound is far from that and only catches
// time that grows faster than the request, which at this size is minutes.
func TestTheWorstRequestIsNoSlowerThanItsSize(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for name, raw := range map[string]string{
		"a thousand names": repeat(1000, func(i int) string {
			return "a[" + strings.Repeat("x", size/1000) + strconv.Itoa(i) + "]=1"
		}),
		"nothing but ampersands": strings.Repeat("&", size),
		"nothing but brackets":   strings.Repeat("[", size),
		"one long name":          "a" + strings.Repeat("[]", size/2),
		"one long number":        "amount=" + strings.Repeat("9", size),
		"one long expansion":     "expand[]=" + strings.Repeat(".", size),
		"nothing but escapes":    "description=" + strings.Repeat("%41", size/3),
		"hashes in lists":        repeat(1000, func(i int) string { return fmt.Sprintf("items[][k%d]=1", i) }),
	} {
		began := time.Now()
		_, err := decode(t, raw)
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s took %s", name, took)
		}
		if err != nil {
			requireDiscreet(t, err)
		}
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()

	t.Run("the encoding is the documented one", func(t *testing.T) {
		t.Parallel()
		got := form.Canonical(parse(t, "b[c]=x&a=1&d[]="))
		if want := "1h3:t1:at1:1t1:bh1:t1:ct1:xt1:dl1:t0:"; string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})

	t.Run("content can not pass for structure", func(t *testing.T) {
		t.Parallel()
		seen := map[string]string{}
		for _, raw := range []string{
			"", "a", "a=b", "a=&b=", "a=%26b", "a[]=b", "a[b]=", "a[0]=b", "a[]=b&a[]=c", "a[]=c&a[]=b", "a=bt1:c",
			"a=b&c=d", "a=b%26c%3Dd", "a[][x]=1&a[][y]=2", "a[][x]=1&a[][x]=2", "a[x]=1&a[y]=2", "A=b", "a=B", "a=+b",
		} {
			encoded := string(form.Canonical(parse(t, raw)))
			if other, taken := seen[encoded]; taken {
				t.Errorf("%q and %q are both %s", raw, other, encoded)
			}
			seen[encoded] = raw
		}
	})

	t.Run("a decoded True is the true of a retry, and a text keeps its capital letter", func(t *testing.T) {
		t.Parallel()
		canonical := func(raw string) string {
			values := parse(t, "amount=1&currency=usd&"+raw)
			if err := form.Decode(values, &params{}); err != nil {
				t.Fatal(err)
			}
			return string(form.Canonical(values))
		}
		if canonical("capture=True&confirm=False") != canonical("capture=true&confirm=false") {
			t.Error("capture=True and capture=true are two requests")
		}
		if canonical("off_session=True") != canonical("off_session=true") {
			t.Error("off_session=True and off_session=true are two requests")
		}
		if canonical("description=True") == canonical("description=true") {
			t.Error("description=True and description=true are one request")
		}
	})
}

// FuzzParse holds for any bytes: nothing panics, every complaint is the caller's
// 400, the order of names does not matter, and the canonical bytes can be read
// back, so that no two requests share them.
func FuzzParse(f *testing.F) {
	for _, r := range refusals {
		f.Add("amount=1&currency=usd&"+r.raw, uint64(1))
	}
	f.Add("items[][price]=a&items[][quantity]=1&items[][price]=b&metadata[a]=1&expand[1]=x&expand[0]=y&shipping="+
		"&created[gt]=1", uint64(2))
	f.Fuzz(func(t *testing.T, raw string, seed uint64) {
		values, err := form.Parse(raw)
		shuffled, shuffledErr := form.Parse(shuffle(raw, seed))
		if (err == nil) != (shuffledErr == nil) {
			t.Fatalf("%q: %v, but in another order %v", raw, err, shuffledErr)
		}
		if err != nil {
			requireCallersFault(t, err)
			return
		}
		encoded := form.Canonical(values)
		if other := form.Canonical(shuffled); !bytes.Equal(encoded, other) {
			t.Fatalf("%q is %s, but in another order %s", raw, encoded, other)
		}
		readCanonical(t, encoded)
		var into params
		err = form.Decode(values, &into)
		if err != nil {
			requireCallersFault(t, err)
		}
	})
}

func requireCallersFault(t *testing.T, err error) {
	t.Helper()
	var spoken *apierror.Error
	if !errors.As(err, &spoken) || spoken.Status != http.StatusBadRequest {
		t.Fatalf("got %v, want a 400", err)
	}
	requireDiscreet(t, err)
}

// shuffle changes the order of pairs but for those whose order means something:
// the ones with [] in their names stay in line.
func shuffle(raw string, seed uint64) string {
	pairs := strings.Split(raw, "&")
	var free []int
	for i, pair := range pairs {
		if name, _, _ := strings.Cut(pair, "="); !ordered(name) {
			free = append(free, i)
		}
	}
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(free), func(i, j int) {
		pairs[free[i]], pairs[free[j]] = pairs[free[j]], pairs[free[i]]
	})
	return strings.Join(pairs, "&")
}

func ordered(name string) bool {
	name = strings.ReplaceAll(strings.ReplaceAll(strings.ToUpper(name), "%5B", "["), "%5D", "]")
	return strings.Contains(name, "[]")
}

// readCanonical reads encoding 1, written from its description alone.
func readCanonical(t *testing.T, encoded []byte) any {
	t.Helper()
	if encoded[0] != '1' {
		t.Fatalf("encoding %q is not 1", encoded[0])
	}
	r := canonicalReader{t, string(encoded[1:])}
	value := r.value()
	if r.rest != "" {
		t.Fatalf("%s goes on after its end", encoded)
	}
	return value
}

type canonicalReader struct {
	t    *testing.T
	rest string
}

func (r *canonicalReader) value() any {
	r.t.Helper()
	tag := r.rest[0]
	digits, rest, found := strings.Cut(r.rest[1:], ":")
	count, err := strconv.Atoi(digits)
	if !found || err != nil {
		r.t.Fatalf("no count in %q", r.rest)
	}
	r.rest = rest
	switch tag {
	case 't':
		text := r.rest[:count]
		r.rest = r.rest[count:]
		return text
	case 'l':
		items := []any{}
		for range count {
			items = append(items, r.value())
		}
		return items
	case 'h':
		members := map[string]any{}
		last := ""
		for i := range count {
			name := r.value().(string)
			if i > 0 && name <= last {
				r.t.Fatalf("%q comes after %q", name, last)
			}
			members[name], last = r.value(), name
		}
		return members
	default:
		r.t.Fatalf("unknown tag %q", tag)
		return nil
	}
}
