package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/id"
)

func TestCopies(t *testing.T) {
	t.Parallel()
	made := time.Now().UTC().Truncate(time.Millisecond)
	charge, account := id.New("ch", made), id.New("acct", made)
	r := &reader{oldest: made.Add(-time.Minute), setUp: map[string]bool{account: true}}
	second := place{n: 7, account: 3, earlier: 24 * time.Hour, setUp: r.setUp}

	copied := func(t *testing.T, c column, text string) string {
		t.Helper()
		var out bytes.Buffer
		table := &table{name: c.Table, columns: []string{c.Column}}
		second.write(&out, table, row{fields: [][]piece{r.cut(c, text)}})
		return strings.TrimSuffix(out.String(), "\n")
	}

	t.Run("an id has the time and the number of its copy, wherever it stands", func(t *testing.T) {
		t.Parallel()
		want := "ch_" + id.EncodeTime(made.Add(-24*time.Hour)) + charge[11:22] + "00007"
		for _, text := range []string{"%", `{"charge":"%","other":"%"}`, "%_secret_abc", "a % b"} {
			got := copied(t, column{"charges", "data", "json"}, strings.ReplaceAll(text, "%", charge))
			if got != strings.ReplaceAll(text, "%", want) {
				t.Errorf("got %s, want %s in %s", got, want, text)
			}
		}
	})

	t.Run("what belongs to the account has one copy for each account", func(t *testing.T) {
		t.Parallel()
		if got := copied(t, column{"charges", "account_id", "text"}, account); got != account[:len(account)-5]+"00003" {
			t.Errorf("got %s of %s", got, account)
		}
	})

	t.Run("what only looks like an id stays", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{"payment_intent", "ch_123", "ch_" + strings.Repeat("z", 24), charge + "x",
			"requires_payment_method_but_none_is_there"} {
			if got := copied(t, column{"charges", "status", "text"}, text); got != text {
				t.Errorf("%s became %s", text, got)
			}
		}
	})

	t.Run("times are earlier, in columns and in JSON, and amounts stay", func(t *testing.T) {
		t.Parallel()
		at := made.Format(copyTime)
		if got := copied(t, column{"charges", "created_at", "timestamp with time zone"},
			at); got != made.Add(-24*time.Hour).Format(copyTime) {
			t.Errorf("got %s of %s", got, at)
		}
		if got := copied(t, column{"events", "data", "json"},
			`{"created":1790000000,"amount":2000}`); got != `{"created":1789913600,"amount":2000}` {
			t.Errorf("got %s", got)
		}
	})

	t.Run("books and movements are numbered by account and copy, and NULL stays NULL", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			column     column
			text, want string
		}{
			{column{"ledger_postings", "book_id", "bigint"}, "2", "32"},
			{column{"acquirer.settled", "movement", "bigint"}, "5", "70005"},
			{column{"charges", "amount", "bigint"}, "5", "5"},
			{column{"charges", "customer_id", "text"}, `\N`, `\N`},
			{column{"requests", "key", "text"}, "my own key", "my own key 7"},
		} {
			if got := copied(t, c.column, c.text); got != c.want {
				t.Errorf("%s.%s: %s became %s, want %s", c.column.Table, c.column.Column, c.text, got, c.want)
			}
		}
	})

	t.Run("a digest is that of the copied message", func(t *testing.T) {
		t.Parallel()
		with := *r
		with.messages = map[string]string{"old digest": `{"of":"` + charge + `"}`}
		var out bytes.Buffer
		second.write(&out, &table{name: "inbox"}, row{fields: [][]piece{with.cut(column{"inbox", "digest", "bytea"},
			"old digest")}})
		body := copied(t, column{"inbox", "body", "bytea"}, with.messages["old digest"])
		if got := strings.TrimSuffix(out.String(), "\n"); got != digest([]byte(body)) {
			t.Errorf("got %s for %s", got, body)
		}
	})

	t.Run("a key has another hash, and the audit trail says which", func(t *testing.T) {
		t.Parallel()
		with := *r
		key := id.New("key", made)
		hash := strings.Repeat("0123456789abcdef", 4)
		with.keys = map[string]string{hash: key}
		var out bytes.Buffer
		second.write(&out, &table{name: "audit_events"}, row{fields: [][]piece{
			with.cut(column{"audit_events", "details", "text"}, `{"kind":"secret","hash":"`+hash+`"}`)}})
		copy := copied(t, column{"api_keys", "id", "text"}, key)
		want := `{"kind":"secret","hash":"` + strings.TrimPrefix(digest([]byte(copy)), `\\x`) + `"}`
		if got := strings.TrimSuffix(out.String(), "\n"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		other := strings.Repeat("f", 64)
		if got := copied(t, column{"audit_events", "details", "text"}, other); got != other {
			t.Errorf("got %s of a hash that no key has", got)
		}
	})

	t.Run("the digest of an answer is that of the copied request and its answer", func(t *testing.T) {
		t.Parallel()
		with := *r
		message := `{"of":"` + charge + `"}`
		with.messages = map[string]string{"old fingerprint": message}
		values := make([]string, len(answeredColumns))
		for n, c := range answeredColumns {
			switch values[n] = "same"; c.Column {
			case "account_id":
				values[n] = account
			case "fingerprint":
				values[n] = "old fingerprint"
			case "body":
				values[n] = `{"id":"` + charge + `"}\\012`
			}
		}
		with.answers = map[string][]string{"old digest": values}
		var out bytes.Buffer
		second.write(&out, &table{name: "audit_events"}, row{fields: [][]piece{
			with.cut(column{"audit_events", "answer_digest", "bytea"}, "old digest")}})

		var want []byte
		for n, c := range answeredColumns {
			value := []byte(copied(t, c, values[n]))
			switch c.Column {
			case "fingerprint":
				sum := sha256.Sum256([]byte(copied(t, column{"inbox", "body", "bytea"}, message)))
				value = sum[:]
			case "body":
				value = plain(string(value))
			}
			want = append(binary.BigEndian.AppendUint64(want, uint64(len(value))), value...)
		}
		if got := strings.TrimSuffix(out.String(), "\n"); got != digest(want) {
			t.Errorf("got %s, want %s", got, digest(want))
		}
	})
}

func TestAnArrayHasOneElement(t *testing.T) {
	t.Parallel()
	p := &planner{values: map[string]string{"account_id": "'acct_1'", "text": "'x'"}}
	for kind, want := range map[string]string{"text": "'acct_1'", "text[]": "ARRAY['acct_1']::text[]"} {
		if got := p.value(variant{}, "account_id", kind); got != want {
			t.Errorf("%s: got %s, want %s", kind, got, want)
		}
	}
	if got := p.value(variant{}, "purposes", "ledger_purpose[]"); got != "ARRAY[NULL]::ledger_purpose[]" {
		t.Errorf("a type without a value: got %s", got)
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`text`:            "text",
		`a\\\\b`:          `a\b`,
		`\\000\\377`:      "\x00\xff",
		`{"a": "b"}\\012`: "{\"a\": \"b\"}\n",
	} {
		if got := string(plain(text)); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
