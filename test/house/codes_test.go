package house_test

import (
	"encoding/json"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/ratchet-pay/ratchet/api"
)

// elsewhere are codes of other codes' fields, or of the port to the acquirer,
// that no answer of the API has.
var elsewhere = []string{"unknown_authorization", "currency_mismatch", "amount_mismatch", "already_captured",
	"already_voided", "nothing_captured",
	"unknown_dispute", "dispute_closed"}

// TestEveryErrorCodeIsExplained holds the document to the code: what an answer can
// have as its code is listed and explained, and nothing else is.
func TestEveryErrorCodeIsExplained(t *testing.T) {
	t.Parallel()
	document, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	code := document.Components.Schemas["past_error"].Value.Properties["code"].Value
	explained, _ := code.Extensions["x-codes"].(map[string]any)
	var listed []string
	for _, name := range code.Enum {
		listed = append(listed, name.(string))
		if explained[name.(string)] == nil {
			t.Errorf("%s is in the list of codes, and not explained under x-codes", name)
		}
	}
	if len(explained) != len(listed) {
		t.Errorf("%d codes are explained, %d listed", len(explained), len(listed))
	}
	said := codesSaid(t)
	for _, name := range said {
		if !slices.Contains(listed, name) && !slices.Contains(elsewhere, name) {
			t.Errorf("the code says %s, and api/openapi.yaml does not know it", name)
		}
	}
	for _, name := range listed {
		if !slices.Contains(said, name) {
			t.Errorf("api/openapi.yaml lists %s, which nothing says", name)
		}
	}
}

// TestExamplesTravelUnderTheStatusesOfTheirCodes holds the explanations to the
// examples, which a test sends.
func TestExamplesTravelUnderTheStatusesOfTheirCodes(t *testing.T) {
	t.Parallel()
	document, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	var explained map[string]struct{ Status []int }
	decode(t, document.Components.Schemas["past_error"].Value.Properties["code"].Value.Extensions["x-codes"],
		&explained)
	checked := 0
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			var examples []struct {
				Name, Code string
				Status     int
			}
			decode(t, operation.Extensions["x-examples"], &examples)
			for _, e := range examples {
				if e.Code == "" {
					continue
				}
				checked++
				if !slices.Contains(explained[e.Code].Status, e.Status) {
					t.Errorf("%s %s, %s: answered %d, which x-codes does not list for %s", method, path, e.Name,
						e.Status, e.Code)
				}
			}
		}
	}
	if checked < 30 {
		t.Errorf("found %d examples with codes; the search is broken", checked)
	}
}

func decode(t *testing.T, extension, into any) {
	t.Helper()
	encoded, err := json.Marshal(extension)
	if err == nil {
		err = json.Unmarshal(encoded, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// codesSaid are the error codes in the source: given to one of the functions that
// make an error, or a refusal of the acquirer's.
func codesSaid(t *testing.T) (codes []string) {
	t.Helper()
	all := sources(t, "internal")
	for _, s := range all {
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				name := called(n)
				if len(n.Args) > 0 &&
					(name == "WithCode" || name == "AuthenticationFailed" ||
						name == "invalid" && s.dir == "internal/testcard") {
					codes = append(codes, literal(n.Args[0])...)
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if s.dir == "internal/acquirer" && strings.HasPrefix(name.Name, "Code") && i < len(n.Values) {
						codes = append(codes, literal(n.Values[i])...)
					}
				}
			case *ast.CompositeLit:
				if kind, is := n.Type.(*ast.Ident); is && kind.Name == "decline" && len(n.Elts) > 0 {
					codes = append(codes, literal(n.Elts[0])...)
				}
			case *ast.KeyValueExpr:
				if key, is := n.Key.(*ast.Ident); is && key.Name == "Code" && isObject(module+s.dir) {
					codes = append(codes, literal(n.Value)...)
				}
			}
			return true
		})
	}
	if len(codes) < 40 {
		t.Fatalf("found %d codes; the search is broken", len(codes))
	}
	return codes
}

func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func literal(e ast.Expr) []string {
	lit, is := e.(*ast.BasicLit)
	if !is || lit.Kind != token.STRING {
		return nil
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil || text == "" {
		return nil
	}
	return []string{text}
}
