package dashboard

import (
	"cmp"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/jackc/pgx/v5"

	contract "github.com/ratchet-pay/ratchet/api"
	"github.com/ratchet-pay/ratchet/web"
)

// operation is one of the API's, as its page shows it.
type operation struct {
	ID          string
	Method      string
	Path        string
	Summary     string
	Description template.HTML
	Deprecated  bool // an old address of another one
	Flow        string
	Phases      []string
	Params      []param
	Examples    []example
	Sample      sample // the example that is shown, ready to be sent
}

// place is where a page has an operation: by how deep its address is, and old
// addresses behind all others.
func (o operation) place() int {
	depth := strings.Count(o.Path, "/")
	if o.Deprecated {
		depth += 100
	}
	return depth
}

// shown is the example a page shows: the first that works, or the first if the
// operation always refuses.
func (o operation) shown() example {
	at := slices.IndexFunc(o.Examples, func(e example) bool { return e.Status == http.StatusOK })
	return o.Examples[max(at, 0)]
}

type param struct {
	Name, Type, In string
	Required       bool
	Description    template.HTML
}

// example is a request of the contract's x-examples.
type example struct {
	Name   string            `json:"name"`
	Path   map[string]string `json:"path"`
	Given  map[string]string `json:"given"`
	Query  string            `json:"query"`
	Body   string            `json:"body"`
	Until  string            `json:"until"` // a field that comes by itself: asked for again until it is there
	Status int               `json:"status"`
	Code   string            `json:"code"` // of the error, where it is one
}

// resource is a page of the reference.
type resource struct {
	Name       string
	Slug       string
	About      template.HTML
	Operations []operation
}

type reference struct {
	Intro     template.HTML
	Resources []resource
}

// theReference is read from the contract once.
var theReference = sync.OnceValues(func() (*reference, error) {
	loaded, err := openapi3.NewLoader().LoadFromData(contract.OpenAPI)
	if err != nil {
		return nil, err
	}
	ref := &reference{Intro: prose(loaded.Info.Description)}
	for _, tag := range loaded.Tags {
		ref.Resources = append(ref.Resources, resource{Name: tag.Name, Slug: strings.ReplaceAll(strings.ToLower(tag.Name), " ", "-"), About: prose(tag.Description)})
	}
	for _, path := range sorted(loaded.Paths.Map()) {
		operations := loaded.Paths.Value(path).Operations()
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			op := operations[method]
			if op == nil || len(op.Tags) == 0 {
				continue
			}
			at := slices.IndexFunc(ref.Resources, func(r resource) bool { return r.Name == op.Tags[0] })
			if at >= 0 {
				ref.Resources[at].Operations = append(ref.Resources[at].Operations, operationOf(method, path, op))
			}
		}
	}
	for _, r := range ref.Resources { // what is of use first
		slices.SortStableFunc(r.Operations, func(a, b operation) int { return cmp.Compare(a.place(), b.place()) })
	}
	return ref, nil
})

func prose(text string) template.HTML {
	var out strings.Builder
	if markdown.Convert([]byte(text), &out) != nil {
		return ""
	}
	return template.HTML(focusable(out.String())) // from our own contract; goldmark leaves raw HTML out
}

func operationOf(method, path string, op *openapi3.Operation) operation {
	o := operation{ID: op.OperationID, Method: method, Path: path, Summary: op.Summary, Description: prose(op.Description), Deprecated: op.Deprecated}
	o.Flow, _ = op.Extensions["x-ratchet-flow"].(string)
	for _, p := range op.Parameters {
		if p.Value.In == "header" {
			continue
		}
		o.Params = append(o.Params, param{p.Value.Name, kindOf(p.Value.Schema), p.Value.In, p.Value.Required, prose(p.Value.Description)})
	}
	if op.RequestBody != nil {
		for _, media := range op.RequestBody.Value.Content {
			schema := media.Schema.Value
			for _, name := range sorted(schema.Properties) {
				p := schema.Properties[name]
				o.Params = append(o.Params, param{name, kindOf(p), "form", slices.Contains(schema.Required, name), prose(p.Value.Description)})
			}
		}
	}
	slices.SortStableFunc(o.Params, func(a, b param) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	encoded, err := json.Marshal(op.Extensions["x-examples"])
	if err == nil {
		_ = json.Unmarshal(encoded, &o.Examples) // the tests of the contract hold its shape
	}
	return o
}

func kindOf(s *openapi3.SchemaRef) string {
	if s == nil || s.Value == nil || s.Value.Type == nil {
		return ""
	}
	return strings.Join(s.Value.Type.Slice(), " or ")
}

type referencePage struct {
	*reference
	Here resource
	Demo bool
	CSRF string
}

func (s *Server) reference(w http.ResponseWriter, r *http.Request) {
	ref, err := theReference()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page := referencePage{reference: ref, Demo: s.Demo, CSRF: s.guard.token(r)}
	slug := r.PathValue("resource")
	if slug == "" {
		s.render(w, r, http.StatusOK, "site/reference", web.Page{Title: "API reference", Here: "api", Data: page})
		return
	}
	at := slices.IndexFunc(ref.Resources, func(r resource) bool { return r.Slug == slug })
	if at < 0 {
		http.NotFound(w, r)
		return
	}
	page.Here = ref.Resources[at]
	page.Here.Operations, err = s.samples(r, page.Here.Operations)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.render(w, r, http.StatusOK, "site/resource", web.Page{Title: page.Here.Name, Here: "api", Data: page})
}

const selectPhases = `SELECT name FROM points WHERE flow = @flow AND version = (SELECT max(version) FROM flows WHERE flow = @flow) AND kind <> 'abandoned' ORDER BY ord`

// samples completes operations with what the installation knows: its address, and
// the recovery points they pass here.
func (s *Server) samples(r *http.Request, of []operation) (_ []operation, err error) {
	of = slices.Clone(of)
	base := "http://" + r.Host
	for i := range of {
		if of[i].Flow != "" {
			points, err := read[struct{ Name string }](r.Context(), s, selectPhases, pgx.StrictNamedArgs{"flow": of[i].Flow})
			if err != nil {
				return nil, err
			}
			for _, p := range points {
				of[i].Phases = append(of[i].Phases, p.Name)
			}
		}
		of[i].Sample, err = sampleOf(base, of[i], of[i].shown())
		if err != nil {
			return nil, err
		}
	}
	return of, nil
}
