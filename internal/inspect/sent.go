package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// Sent is what a client sent: the parameters, rebuilt from what the operation stored
// of them, and who sent it.
type Sent struct {
	Params     []Param
	Actor      string // the API key's ID
	Address    string
	Client     string // what the client calls itself; "" if it sent no User-Agent
	APIVersion string
	Exact      bool     // the fingerprint confirms the parameters
	Samples    []Sample // the programs that send it again; none if it cannot be
	Unsendable string   // why it cannot be sent again; "" if it can
}

// Form are the parameters for a request that sends them again.
func (s *Sent) Form() url.Values {
	all := url.Values{}
	for _, p := range s.Params {
		all.Add(p.Name, p.Value)
	}
	return all
}

type sentRow struct {
	Params      json.RawMessage
	Fingerprint []byte
	Actor       string
	Address     string
	Client      string
	APIVersion  string
	Publishable bool   // a browser sent it: its key is kept under another name
	BaseURL     string `db:"base_url"`
}

const selectSent = `
	SELECT params, fingerprint, coalesce(context->>'actor', '') AS actor, coalesce(context->>'address', '') AS address,
	       coalesce(context->>'client', '') AS client,
	       coalesce(context->'application'->>'api_version', '') AS api_version,
	       coalesce((context->'application'->>'publishable')::boolean, false) AS publishable,
	       coalesce(context->'application'->>'base_url', '') AS base_url
	FROM requests WHERE account_id = @account_id AND id = @id`

// Param is a parameter as a form has it: metadata[order]=6001.
type Param struct{ Name, Value string }

// ReadSent reads what a client of the API sent, or nil if another source sent the request.
// The keys are those that fingerprints are made with.
func ReadSent(ctx context.Context, db *pgxpool.Pool, keys secret.Keys, of idempotency.Summary) (*Sent, error) {
	if !strings.HasPrefix(of.Path, "/v1/") {
		return nil, nil
	}
	rows, err := db.Query(ctx, selectSent, postgres.Args{"account_id": of.AccountID, "id": of.ID})
	if err != nil {
		return nil, fmt.Errorf("read parameters of %s: %w", of.ID, err)
	}
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[sentRow])
	if err != nil {
		return nil, fmt.Errorf("read parameters of %s: %w", of.ID, err)
	}
	sent := &Sent{Actor: row.Actor, Address: row.Address, Client: row.Client, APIVersion: row.APIVersion}
	for _, guess := range guesses {
		params, err := guess.rebuild(row.Params)
		if err != nil {
			return nil, fmt.Errorf("rebuild parameters of %s: %w", of.ID, err)
		}
		if sent.Params == nil {
			sent.Params = params
		}
		if confirmed(keys, of, params, row.Fingerprint) {
			sent.Params, sent.Exact = params, true
			break
		}
	}
	if sent.Unsendable = unsendable(sent, row); sent.Unsendable == "" {
		sent.Samples = samples(of, sent.Params, row)
	}
	return sent, nil
}

// unsendable says why a request cannot be sent again, or "".
func unsendable(sent *Sent, row sentRow) string {
	switch {
	case row.Publishable:
		return "A browser sent this request with a publishable key, whose idempotency keys are separate."
	case sent.Exact:
		return ""
	case holdsCard(row.Params):
		return "This request had card data, which is never stored, so it can’t be rebuilt."
	}
	return "Only the values that some parameters refer to are stored, so the same request can’t be rebuilt."
}

// newMethod is the field in which operations store the card that the parameters describe.
const newMethod = "New"

// holdsCard tells whether a card was among the parameters themselves.
func holdsCard(stored json.RawMessage) bool {
	fields, err := members(stored)
	if err != nil {
		return false // a list, a text or a number
	}
	for _, f := range fields {
		own := f.name == newMethod || !derived[f.name]
		if f.name == cardReference || own && bytes.HasPrefix(f.value, []byte("{")) && holdsCard(f.value) {
			return true
		}
	}
	return false
}

// confirmed tells whether these are the parameters that the request's fingerprint was
// made of.
func confirmed(keys secret.Keys, of idempotency.Summary, params []Param, fingerprint []byte) bool {
	values, err := form.Parse(encode(params))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(keys.All(), func(key []byte) bool {
		return bytes.Equal(idempotency.Fingerprint(key, of.Method, of.Path, form.Canonical(values)), fingerprint)
	})
}

func encode(params []Param) string {
	all := make([]string, len(params))
	for i, p := range params {
		all[i] = url.QueryEscape(p.Name) + "=" + url.QueryEscape(p.Value)
	}
	return strings.Join(all, "&")
}

// guess is a way to rebuild parameters. What an operation stores does not say whether
// false was sent or left out, whether its ID came in the path or as a parameter, and
// whether the items of a list were sent as name[] or as name[0].
type guess struct{ no, id, indexed bool }

var guesses = []guess{
	{}, {no: true}, {id: true}, {no: true, id: true},
	{indexed: true}, {no: true, indexed: true}, {id: true, indexed: true}, {no: true, id: true, indexed: true},
}

// derived are fields in which operations store what parameters stand for, such as the
// card of a token.
var derived = map[string]bool{"Found": true, "FoundRates": true, "FoundCoupon": true, "New": true, "AttachedTo": true}

// cardReference is the field of a stored card that names it to the acquirer.
const cardReference = "vault"

// rebuild makes parameters of the stored fields, in their order.
func (g guess) rebuild(stored json.RawMessage) ([]Param, error) {
	fields, err := members(stored)
	if err != nil {
		return nil, err
	}
	params := []Param{}
	for _, f := range fields {
		if derived[f.name] || f.name == "ID" && !g.id {
			continue
		}
		if params, err = g.flatten(params, parameter(f.name), f.value); err != nil {
			return nil, err
		}
	}
	return params, nil
}

// flatten appends a value under its name: a hash as name[key], a list as name[].
func (g guess) flatten(params []Param, name string, value json.RawMessage) ([]Param, error) {
	switch {
	case len(value) == 0 || bytes.Equal(value, []byte("null")) || !g.no && bytes.Equal(value, []byte("false")):
		return params, nil
	case name == "metadata" || strings.HasSuffix(name, "[metadata]"):
		return metadata(params, name, value)
	case value[0] == '{':
		fields, err := members(value)
		for _, f := range fields {
			if f.name == cardReference { // the server adds the details of a card
				return params, nil
			}
			if err == nil {
				params, err = g.flatten(params, name+"["+parameter(f.name)+"]", f.value)
			}
		}
		return params, err
	case value[0] == '[':
		var items []json.RawMessage
		err := json.Unmarshal(value, &items)
		for i, item := range items {
			at := name + "[]"
			if g.indexed || bytes.HasPrefix(item, []byte("{")) {
				at = fmt.Sprintf("%s[%d]", name, i)
			}
			if err == nil {
				params, err = g.flatten(params, at, item)
			}
		}
		return params, err
	case value[0] == '"':
		var text string
		if err := json.Unmarshal(value, &text); err != nil || text == "" {
			return params, err
		}
		return append(params, Param{Name: name, Value: text}), nil
	default: // a number or true
		return append(params, Param{Name: name, Value: string(value)}), nil
	}
}

func metadata(params []Param, name string, value json.RawMessage) ([]Param, error) {
	var m form.Metadata
	if err := json.Unmarshal(value, &m); err != nil {
		return params, fmt.Errorf("metadata: %w", err)
	}
	if m.Clear {
		params = append(params, Param{Name: name})
	}
	for _, key := range slices.Sorted(maps.Keys(m.Set)) {
		params = append(params, Param{Name: name + "[" + key + "]", Value: m.Set[key]})
	}
	for _, key := range m.Unset {
		params = append(params, Param{Name: name + "[" + key + "]"})
	}
	return params, nil
}

type member struct {
	name  string
	value json.RawMessage
}

// members are an object's members in their order.
func members(object json.RawMessage) (all []member, err error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.Token(); err != nil {
		return nil, fmt.Errorf("read an object: %w", err)
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, fmt.Errorf("read a name: %w", err)
		}
		m := member{name: fmt.Sprint(name)}
		if err := decoder.Decode(&m.value); err != nil {
			return nil, fmt.Errorf("read %s: %w", m.name, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// wordStart is where a new word begins in the name of a field.
var wordStart = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// parameter is the API's name of a field: receipt_email for ReceiptEmail.
func parameter(field string) string {
	return strings.ToLower(wordStart.ReplaceAllString(field, "${1}${3}_${2}${4}"))
}
