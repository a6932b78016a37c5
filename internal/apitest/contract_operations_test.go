package apitest

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/form"
)

func TestOperations(t *testing.T) {
	t.Parallel()

	t.Run("an operation tells its flow, its parameters and its examples", func(t *testing.T) {
		t.Parallel()
		o, known := OperationByID("charge.create")
		if !known || o.Method != http.MethodPost || o.Path != "/v1/charges" || o.Flow != "charge.create" {
			t.Fatalf("got %+v", o)
		}
		want := Parameter{Name: "statement_descriptor", Type: "string", Max: "22"}
		if got := byName(o.Parameters)["statement_descriptor"]; !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		e, known := o.Example("shipped")
		if !known || strings.ContainsAny(e.Body, " \n") || !strings.Contains(e.Body, "&shipping[name]=Jenny+Rosen&") {
			t.Errorf("the body is %q", e.Body)
		}
	})

	t.Run("an example is sent after those it takes values from, each once", func(t *testing.T) {
		t.Parallel()
		var sent []string
		send := func(_ testing.TB, method, target, body string) (int, []byte) {
			sent = append(sent, strings.TrimSpace(method+" "+target+" "+body))
			switch target {
			case "/v1/customers":
				return http.StatusOK, []byte(`{"id":"cus_1"}`)
			case "/v1/customers/cus_1/sources":
				return http.StatusOK, []byte(`{"id":"card_1","customer":"cus_1"}`)
			default:
				return http.StatusPaymentRequired,
					[]byte(`{"error":{"code":"invalid_expiry_month","param":"exp_month"}}`)
			}
		}
		o, _ := OperationByID("card.update")
		e, _ := o.Example("thirteenth_month")
		o.Send(t, send, e)
		want := []string{
			"POST /v1/customers name=Jenny+Rosen&email=jenny@example.com&metadata[order]=6735",
			"POST /v1/customers/cus_1/sources source=tok_visa&metadata[wallet]=left",
			"POST /v1/customers/cus_1/sources/card_1 exp_month=13",
		}
		if !slices.Equal(sent, want) {
			t.Errorf("sent %q, want %q", sent, want)
		}
	})

	t.Run("an example that is answered otherwise fails the test", func(t *testing.T) {
		t.Parallel()
		send := func(testing.TB, string, string, string) (int, []byte) {
			return http.StatusBadRequest, []byte(`{"error":{"code":"parameter_missing","param":"source"}}`)
		}
		o, _ := OperationByID("charge.create")
		e, _ := o.Example("no_amount")
		r := &formatRecorder{TB: t}
		o.Send(r, send, e)
		if len(r.failures) != 1 {
			t.Errorf("failures: %q, want one about the parameter", r.failures)
		}
	})

	t.Run("a value is found by its place in the answer", func(t *testing.T) {
		t.Parallel()
		answer := map[string]any{"id": "a", "data": []any{map[string]any{"id": "b"}}, "count": 1.0}
		for field, want := range map[string]string{"id": "a", "data.0.id": "b"} {
			got, err := pick(answer, field)
			if err != nil || got != want {
				t.Errorf("%s: got %q, %v", field, got, err)
			}
		}
		for _, field := range []string{"data.1.id", "data.x", "id.id", "count", "nothing"} {
			if got, err := pick(answer, field); err == nil {
				t.Errorf("%s: got %q", field, got)
			}
		}
	})
}

// formatRecorder records the calls of Errorf.
type formatRecorder struct {
	testing.TB
	failures []string
}

func (r *formatRecorder) Helper()                        {}
func (r *formatRecorder) Errorf(format string, _ ...any) { r.failures = append(r.failures, format) }

func TestCompareRoutes(t *testing.T) {
	t.Parallel()
	var all []string
	for _, o := range Operations() {
		all = append(all, o.Method+" "+strings.NewReplacer("{", ":", "}", "").Replace(o.Path))
	}

	t.Run("the same routes in the router's spelling do not differ", func(t *testing.T) {
		t.Parallel()
		got := CompareRoutes(append([]string{"GET /healthz"}, all...))
		if len(got) > 0 {
			t.Error(got)
		}
	})

	t.Run("what is only here and what is only there", func(t *testing.T) {
		t.Parallel()
		some := slices.DeleteFunc(slices.Clone(all), func(r string) bool { return r == "GET /v1/balance" })
		got := CompareRoutes(append(some, "PUT /v1/charges/:id"))
		want := []string{"GET /v1/balance is in openapi.yaml but not routed",
			"PUT /v1/charges/{} is routed but not in openapi.yaml"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestCompareParameters(t *testing.T) {
	t.Parallel()

	t.Run("a struct that says the same does not differ", func(t *testing.T) {
		t.Parallel()
		type refund struct {
			Amount *int64  `form:"amount" min:"1"`
			Reason *string `form:"reason" enum:"duplicate,fraudulent,requested_by_customer"`
		}
		type params struct {
			refund
			Charge        string        `form:"charge"`
			PaymentIntent string        `form:"payment_intent"`
			Metadata      form.Metadata `form:"metadata"`
			Expand        form.Expand   `form:"expand"`
			Found         string        // none of the caller's business
		}
		requireDifferences(t, "refund.create", reflect.TypeFor[params]())
	})

	t.Run("names, bounds, enums and what is required or may be empty are compared", func(t *testing.T) {
		t.Parallel()
		type params struct {
			Amount   int64         `form:"amount,required"`
			Reason   *string       `form:"reason,unset" enum:"duplicate"`
			Charge   string        `form:"charge" max:"255"`
			Metadata form.Metadata `form:"metadata"`
			Note     string        `form:"note"`
		}
		requireDifferences(t, "refund.create", reflect.TypeFor[params](),
			"amount is (integer; required)", "charge is (string; max 255)", "expand is in openapi.yaml but not in",
			"note is in apitest.params but not in", "payment_intent is in openapi.yaml but not in",
			"reason is (string; one of duplicate; unset)")
	})

	t.Run("what is inside hashes and lists is compared too", func(t *testing.T) {
		t.Parallel()
		type params struct {
			Types []string `form:"types" max:"21"`
			Range struct {
				From int `form:"from"`
			} `form:"range"`
		}
		names := []string{}
		for _, p := range ParametersOf(reflect.TypeFor[params]()) {
			names = append(names, p.Name)
		}
		if want := []string{"range", "range[from]", "types", "types[]"}; !slices.Equal(names, want) {
			t.Errorf("got %q, want %q", names, want)
		}
	})
}

func requireDifferences(t *testing.T, id string, params reflect.Type, want ...string) {
	t.Helper()
	o, known := OperationByID(id)
	if !known {
		t.Fatalf("there is no %s", id)
	}
	got := CompareParameters(o, params)
	if !slices.EqualFunc(got, want, func(g, w string) bool { return strings.HasPrefix(g, id+": "+w) }) {
		t.Errorf("got %q, want %q", got, want)
	}
}
