package apitest

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/ratchet-pay/ratchet/internal/form"
)

func TestOpenAPI(t *testing.T) {
	t.Parallel()

	t.Run("it is a valid document, and its examples are what its schemas say", func(t *testing.T) {
		t.Parallel()
		err := document().Validate(t.Context())
		if err != nil {
			t.Error(err)
		}
	})

	t.Run("every operation that changes something names its flow, and no other does", func(t *testing.T) {
		t.Parallel()
		for _, o := range Operations() {
			if changes := o.Method != http.MethodGet; changes != (o.Flow != "") {
				t.Errorf("%s %s has flow %q", o.Method, o.Path, o.Flow)
			}
		}
	})

	t.Run("every operation has an example that succeeds", func(t *testing.T) {
		t.Parallel()
		// of a card's refund, of an account that may not
		never := []string{"refund.cancel", "refund.expire", "payment_intent.increment_authorization"}
		for _, o := range Operations() {
			if !slices.Contains(never, o.ID) && !slices.ContainsFunc(o.Examples, func(e Example) bool {
				return e.Status == http.StatusOK
			}) {
				t.Errorf("%s has none", o.ID)
			}
		}
	})

	t.Run("every example can be sent", func(t *testing.T) {
		t.Parallel()
		for _, o := range Operations() {
			for _, e := range o.Examples {
				checkExample(t, o, e)
			}
		}
	})

	t.Run("every error has the one shape", func(t *testing.T) {
		t.Parallel()
		want := document().Components.Schemas["error"].Value
		for _, r := range routes() {
			for status, response := range r.operation.Responses.Map() {
				if status == "200" {
					continue
				}
				if response.Value.Content["application/json"].Schema.Value != want {
					t.Errorf("%s: %s has another", r.operation.OperationID, status)
				}
			}
		}
	})

	t.Run("only what changes something can be in conflict or be refused by a card", func(t *testing.T) {
		t.Parallel()
		for _, r := range routes() {
			for _, status := range []int{http.StatusPaymentRequired, http.StatusConflict} {
				if r.method != http.MethodPost && r.operation.Responses.Status(status) != nil {
					t.Errorf("%s answers %d", r.operation.OperationID, status)
				}
			}
		}
	})

	t.Run("every object is closed", func(t *testing.T) {
		t.Parallel()
		for name, schema := range document().Components.Schemas {
			checkClosed(t, name, schema)
		}
	})
}

func checkExample(t *testing.T, o Operation, e Example) {
	t.Helper()
	values := maps.Clone(e.Path)
	if values == nil {
		values = map[string]string{}
	}
	for name, given := range e.Given {
		from, _, _, err := resolve(given)
		if err != nil {
			t.Errorf("%s/%s: %v", o.ID, e.Name, err)
		}
		// Accounts are opened by an operator, and no operation makes one.
		if from.Method == http.MethodGet && !strings.Contains(given, ":data.") && given != "account.retrieve" {
			t.Errorf("%s/%s: %s makes nothing", o.ID, e.Name, given)
		}
		values[name] = "id_of_" + name
	}
	target, body := e.target(o, values)
	if left := regexp.MustCompile(`\{[a-z]+\}`).FindString(target + body); left != "" {
		t.Errorf("%s/%s: nothing is given for %s", o.ID, e.Name, left)
	}
	if o.Method != http.MethodPost && e.Body != "" || o.Method == http.MethodPost && e.Query != "" {
		t.Errorf("%s/%s: parameters are in the body of a POST and in the query of all others", o.ID, e.Name)
	}
	u, err := url.Parse(target)
	if err != nil {
		t.Fatalf("%s/%s: %v", o.ID, e.Name, err)
	}
	checkParameters(t, o, e, u.RawQuery+body)
	route, known := findRoute(o.Method, u.Path)
	if !known || route.operation.OperationID != o.ID {
		t.Errorf("%s/%s: %s %s leads elsewhere", o.ID, e.Name, o.Method, u.Path)
	}
	if response := route.operation.Responses.Status(e.Status); response == nil {
		t.Errorf("%s/%s: %s does not answer %d", o.ID, e.Name, o.ID, e.Status)
	}
}

// checkParameters compares the names an example sends with those there are.
func checkParameters(t *testing.T, o Operation, e Example, raw string) {
	t.Helper()
	if _, err := form.Parse(raw); err != nil {
		t.Errorf("%s/%s: %v", o.ID, e.Name, err)
	}
	sent, err := url.ParseQuery(raw)
	if err != nil {
		t.Fatalf("%s/%s: %v", o.ID, e.Name, err)
	}
	if e.Code == "parameter_unknown" {
		return
	}
	declared := byName(o.Parameters)
	for name := range sent {
		self, _, _ := strings.Cut(name, "[")
		pattern := placeInList.ReplaceAllString(name, "[]")
		if hash, _, found := strings.Cut(pattern, "[metadata]["); found {
			pattern = hash + "[metadata]"
		}
		if _, is := declared[pattern]; !is && !slices.Contains(selfRead, self) {
			t.Errorf("%s/%s: there is no parameter %s", o.ID, e.Name, name)
		}
	}
}

// placeInList is the part of a name that says which item of a list it is about.
var placeInList = regexp.MustCompile(`\[\d+\]`)

func checkClosed(t *testing.T, name string, ref *openapi3.SchemaRef) {
	t.Helper()
	if ref.Ref != "" && name != ref.Ref {
		return // it is looked at in place
	}
	schema := ref.Value
	if schema.Type.Is(openapi3.TypeObject) && schema.AdditionalProperties.Schema == nil &&
		(schema.AdditionalProperties.Has == nil || *schema.AdditionalProperties.Has) &&
		!strings.HasSuffix(name, "/previous_attributes") {
		t.Errorf("%s is open", name)
	}
	for inner, property := range schema.Properties {
		checkClosed(t, name+"/"+inner, property)
	}
	for _, branch := range slices.Concat(schema.AnyOf, schema.AllOf) {
		checkClosed(t, name, branch)
	}
	if schema.Items != nil {
		checkClosed(t, name+"/0", schema.Items)
	}
}
