package docsite

import (
	"cmp"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/ratchet-pay/ratchet/api"
	"github.com/ratchet-pay/ratchet/internal/postgres"
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
	Sample      sample   // the example that is shown, ready to be sent
	Answer      string   // the name of the schema of what it answers, "" for a list
	Unsupported []string // parameters that Stripe's operation has, too
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
	Name   string
	Path   map[string]string
	Given  map[string]string
	Query  string
	Body   string
	Until  string // a field that appears later: asked for again until it is there
	Status int
	Code   string // of the error, where it is one
}

// resource is a page of the reference.
type resource struct {
	Name       string
	Slug       string
	About      template.HTML
	Operations []operation
	Objects    []object // what they answer with
}

// Object is what an operation of the page answers with; nil for a list, and what another page has.
func (r resource) Object(name string) *object {
	at := slices.IndexFunc(r.Objects, func(o object) bool { return o.ID == objectID(name) })
	if at < 0 {
		return nil
	}
	return &r.Objects[at]
}

type reference struct {
	Intro     template.HTML
	Resources []resource
}

// theReference is read from the contract once.
var theReference = sync.OnceValues(func() (*reference, error) {
	c, err := theContract()
	if err != nil {
		return nil, err
	}
	ref := &reference{Intro: prose(c.Info.Description)}
	for _, tag := range c.Tags {
		ref.Resources = append(ref.Resources, resource{
			Name:  tag.Name,
			Slug:  strings.ReplaceAll(strings.ToLower(tag.Name), " ", "-"),
			About: prose(tag.Description),
		})
	}
	for _, path := range sorted(c.Paths) {
		ref.add(http.MethodPost, path, c, c.Paths[path].Post)
		ref.add(http.MethodGet, path, c, c.Paths[path].Get)
		ref.add(http.MethodDelete, path, c, c.Paths[path].Delete)
	}
	described := map[string]bool{}
	for i := range ref.Resources { // what is of use first
		r := &ref.Resources[i]
		slices.SortStableFunc(r.Operations, func(a, b operation) int { return cmp.Compare(a.place(), b.place()) })
		for _, op := range r.Operations {
			if o := c.objectOf(op.Answer); o != nil && !op.Deprecated && !described[op.Answer] {
				described[op.Answer] = true
				r.Objects = append(r.Objects, *o)
			}
		}
	}
	return ref, nil
})

func (ref *reference) add(method, path string, c *contract, op *operationSpec) {
	if op == nil || len(op.Tags) == 0 {
		return
	}
	at := slices.IndexFunc(ref.Resources, func(r resource) bool { return r.Name == op.Tags[0] })
	if at >= 0 {
		ref.Resources[at].Operations = append(ref.Resources[at].Operations, operationOf(method, path, c, op))
	}
}

func prose(text string) template.HTML {
	var out strings.Builder
	if markdown.Convert([]byte(text), &out) != nil {
		return ""
	}
	return template.HTML(focusable(out.String())) // from our own contract; goldmark leaves raw HTML out
}

func operationOf(method, path string, c *contract, op *operationSpec) operation {
	o := operation{
		ID:          op.ID,
		Method:      method,
		Path:        path,
		Summary:     op.Summary,
		Description: prose(op.Description),
		Deprecated:  op.Deprecated,
		Flow:        op.Flow,
		Examples:    op.Examples,
		Answer:      c.answerOf(op),
		Unsupported: unsupported()[method+" "+path],
	}
	for _, given := range op.Parameters {
		p := c.parameter(given)
		if p.In == "header" {
			continue
		}
		o.Params = append(o.Params, param{p.Name, c.schema(p.Schema).Type, p.In, p.Required, prose(p.Description)})
	}
	for _, media := range op.Body.Content {
		schema := c.schema(media.Schema)
		for _, name := range sorted(schema.Properties) {
			p := c.schema(schema.Properties[name])
			o.Params = append(o.Params,
				param{name, p.Type, "form", slices.Contains(schema.Required, name), prose(p.Description)})
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
	return o
}

// objectsPath comes after the address of a resource. Its objects have their own page, because those
// of some resources are as long as the operations.
const objectsPath = "/objects"

var unsupported = sync.OnceValue(api.UnsupportedParameters)

type referencePage struct {
	*reference
	Here resource
	Demo bool
	CSRF string
}

func (p *Pages) reference(w http.ResponseWriter, r *http.Request) {
	ref, err := theReference()
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	page := referencePage{reference: ref, Demo: p.Demo, CSRF: p.Token(r)}
	slug := r.PathValue("resource")
	if slug == "" {
		p.Render(w, r, http.StatusOK, "site/reference", web.Page{Title: "API reference", Here: "api", Data: page})
		return
	}
	at := slices.IndexFunc(ref.Resources, func(r resource) bool { return r.Slug == slug })
	if at < 0 {
		p.Render(w, r, http.StatusNotFound, "dashboard/problem", web.Page{Title: "Not found", Here: "api",
			Data: missing{"Page not found", "Check the address, or open the API reference.", "/docs/api",
				"API reference"}})
		return
	}
	page.Here = ref.Resources[at]
	if strings.HasSuffix(r.URL.Path, objectsPath) {
		p.Render(w, r, http.StatusOK, "site/objects",
			web.Page{Title: page.Here.Name + ": objects", Here: "api", Data: page})
		return
	}
	page.Here.Operations, err = p.samples(r, page.Here.Operations)
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	p.Render(w, r, http.StatusOK, "site/resource", web.Page{Title: page.Here.Name, Here: "api", Data: page})
}

const selectPhases = `
	SELECT name FROM recovery_points
	WHERE flow = @flow AND version = (SELECT max(version) FROM flows WHERE flow = @flow) AND kind <> 'abandoned'
	ORDER BY position`

// samples completes operations with what the installation knows: its address, and
// the recovery points they pass here.
func (p *Pages) samples(r *http.Request, of []operation) (_ []operation, err error) {
	of = slices.Clone(of)
	base := p.base(r)
	for i := range of {
		if of[i].Flow != "" {
			points, err := read[struct{ Name string }](r.Context(), p.Pool, selectPhases,
				postgres.Args{"flow": of[i].Flow})
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
