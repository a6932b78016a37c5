package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stripe/stripe-mock/embedded"

	"github.com/ratchet-pay/ratchet/internal/wire"
)

// notInEveryAnswer are keys of Stripe's samples that an answer may lack: the
// samples show some that are only sent when expanded, and products we do not have.
var notInEveryAnswer = map[string][]string{
	"account": {"business_type", "capabilities", "controller", "external_accounts", "future_requirements", "metadata",
		"requirements", "settings", "tos_acceptance"},
	"balance": {"connect_reserved"},
	"card":    {"customer"}, // not inside a token
	"charge":  {"refunds"},
}

// undocumented are the addresses that Stripe has and does not publish: its command
// line pays for a checkout session there, has events sent again, and listens, and its script
// makes confirmation tokens. Only our own contract speaks of them.
var undocumented = []string{"get /v1/payment_pages/{session}", "post /v1/payment_pages/{session}",
	"post /v1/payment_pages/{session}/confirm", "post /v1/events/{id}/retry",
	"post /v1/payment_links/{payment_link}/open",
	"post /v1/stripecli/sessions", "post /v1/confirmation_tokens"}

// stripe is what Stripe publishes about the operations we have.
type stripe struct {
	schemas openapi3.Schemas    // of objects by their names, of answers by "get /v1/charges"
	params  map[string][]string // top-level, by "post /v1/charges"
	samples map[string][]string // keys of a sample of each object
}

// stripes keeps of Stripe's schema, which has over a thousand parts, what our
// operations answer. Stripe leaves objects open; here they are closed, so that a
// misspelled key does not pass for one of the optional ones.
var stripes = sync.OnceValue(func() stripe {
	var spec struct {
		Paths      map[string]map[string]stripeOperation
		Components struct{ Schemas map[string]any }
	}
	mustDecode("Stripe's schema", embedded.OpenAPISpec, &spec)
	kept := reachable{all: spec.Components.Schemas, schemas: map[string]any{}}
	all := stripe{params: map[string][]string{}, samples: sampleKeys()}
	for _, r := range routes() {
		name := r.stripeName()
		if slices.Contains(undocumented, name) {
			continue
		}
		operation := spec.Paths[r.path][strings.ToLower(r.method)]
		all.params[name] = operation.params()
		answer := operation.answer()
		kept.follow(answer)
		kept.schemas[name] = answer
	}
	kept.add("error")
	addDropped(kept.schemas)
	doc, err := json.Marshal(wire.Object{
		"openapi": "3.0.0", "info": wire.Object{"title": "Stripe", "version": "1"}, "paths": wire.Object{},
		"components": wire.Object{"schemas": kept.schemas},
	})
	if err != nil {
		panic(fmt.Sprintf("Stripe's schema: %v", err))
	}
	loaded, err := openapi3.NewLoader().LoadFromData(doc)
	if err != nil {
		panic(fmt.Sprintf("Stripe's schema: %v", err))
	}
	all.schemas = loaded.Components.Schemas
	return all
})

func mustDecode(what string, data []byte, into any) {
	if err := json.Unmarshal(data, into); err != nil {
		panic(fmt.Sprintf("%s: %v", what, err))
	}
}

func (r route) stripeName() string { return strings.ToLower(r.method) + " " + r.path }

// stripeOperation is what we need of one of Stripe's operations.
type stripeOperation struct {
	Parameters  []struct{ Name, In string }
	RequestBody struct {
		Content map[string]struct {
			Schema struct{ Properties map[string]any }
		}
	}
	Responses map[string]struct {
		Content map[string]struct{ Schema any }
	}
}

func (o stripeOperation) params() (names []string) {
	for _, p := range o.Parameters {
		if p.In == "query" {
			names = append(names, p.Name)
		}
	}
	return slices.AppendSeq(names,
		maps.Keys(o.RequestBody.Content["application/x-www-form-urlencoded"].Schema.Properties))
}

func (o stripeOperation) answer() any { return o.Responses["200"].Content["application/json"].Schema }

// reachable gathers schemas and all that they refer to.
type reachable struct {
	all     map[string]any
	schemas map[string]any
}

func (k *reachable) add(name string) {
	if _, has := k.schemas[name]; has {
		return
	}
	k.schemas[name] = k.all[name]
	k.follow(k.all[name])
}

// follow walks a schema, closes its objects and drops what says nothing about an answer.
func (k *reachable) follow(part any) {
	switch p := part.(type) {
	case []any:
		for _, each := range p {
			k.follow(each)
		}
	case wire.Object:
		if ref, is := p["$ref"].(string); is {
			k.add(strings.TrimPrefix(ref, "#/components/schemas/"))
			return
		}
		maps.DeleteFunc(p, func(name string, value any) bool {
			_, isText := value.(string)
			return strings.HasPrefix(name, "x-") || name == "description" && isText
		})
		for _, each := range p {
			k.follow(each)
		}
		if properties, has := p["properties"].(wire.Object); has && len(properties) > 0 && p["type"] == "object" {
			p["additionalProperties"] = false
		}
	}
}

// addDropped gives charges and intents their source, and products their type. Stripe sends
// them and its clients read them, although its schema has dropped them.
func addDropped(schemas map[string]any) {
	for _, kind := range []string{"charge", "payment_intent"} {
		properties := schemas[kind].(wire.Object)["properties"].(wire.Object)
		properties["source"] = wire.Object{
			"nullable": true,
			"anyOf":    []any{wire.Object{"$ref": "#/components/schemas/card"}},
		}
	}
	product := schemas["product"].(wire.Object)["properties"].(wire.Object)
	product["type"] = wire.Object{"type": "string", "enum": []any{"good", "service"}}
}

// sampleKeys are the keys of Stripe's sample of each object. Its schema requires
// very few; its samples show what it really sends.
func sampleKeys() map[string][]string {
	var samples struct{ Resources map[string]wire.Object }
	mustDecode("Stripe's samples", embedded.OpenAPIFixtures, &samples)
	keys := map[string][]string{}
	for name, sample := range samples.Resources {
		keys[name] = slices.Sorted(maps.Keys(sample))
	}
	return keys
}

// checkStripe holds an answer to Stripe's schema and samples.
func (r route) checkStripe(body wire.Object) []Violation {
	var found []Violation
	if !slices.Contains(undocumented, r.stripeName()) {
		found = visit(RuleStripe, "", stripes().schemas[r.stripeName()].Value, body)
	}
	return sorted(append(found, checkObjects("", body)...))
}

// checkError holds the body of an error to Stripe's schema.
func (route) checkError(body wire.Object) []Violation {
	return visit(RuleStripe, "", stripes().schemas["error"].Value, body)
}

// checkObjects goes through all objects in an answer, however deep, and looks for
// keys they lack. The object of an event is held to the schema here as well:
// Stripe's schema of an event leaves it open.
func checkObjects(at string, value any) (found []Violation) {
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			found = append(found, checkObjects(at+"/"+strconv.Itoa(i), item)...)
		}
	case wire.Object:
		kind, _ := v["object"].(string)
		if v["deleted"] != true {
			found = append(found, checkKeys(at, kind, v)...)
		}
		if data, isEvent := v["data"].(wire.Object); isEvent && kind == "event" {
			found = append(found, checkSubject(at+"/data/object", data["object"])...)
		}
		for name, inner := range v {
			found = append(found, checkObjects(at+"/"+name, inner)...)
		}
	}
	return found
}

func checkKeys(at, kind string, object wire.Object) (found []Violation) {
	for _, key := range stripes().samples[kind] {
		if _, has := object[key]; !has && !slices.Contains(notInEveryAnswer[kind], key) {
			found = append(found, Violation{RuleSample, at + "/" + key, "is missing: Stripe's " + kind + " has it"})
		}
	}
	return found
}

func checkSubject(at string, subject any) []Violation {
	object, _ := subject.(wire.Object)
	kind, _ := object["object"].(string)
	schema := stripes().schemas[kind]
	if schema == nil {
		return []Violation{{RuleStripe, at, fmt.Sprintf("is a %q, which Stripe does not have", kind)}}
	}
	return visit(RuleStripe, at, schema.Value, subject)
}
