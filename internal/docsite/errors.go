package docsite

import (
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ratchet-pay/ratchet/web"
)

// errorCode is what the contract says of one of the codes.
type errorCode struct {
	Name   string
	Status []int
	Means  template.HTML
	Do     template.HTML
	Happen []happening // examples that are answered with it
}

// happening is a request of the contract's examples that makes an error happen.
type happening struct{ Operation, Method, Path, Example, Page string }

// errorStatus is what the contract says of a status, no matter which code.
type errorStatus struct {
	Statuses string
	About    template.HTML
}

type errorsPage struct {
	Codes    []errorCode
	Statuses []errorStatus
	Demo     bool
	CSRF     string
	Contents []section
}

// theErrors is read from the contract once.
var theErrors = sync.OnceValues(func() (*errorsPage, error) {
	c, err := theContract()
	if err != nil {
		return nil, err
	}
	ref, err := theReference()
	if err != nil {
		return nil, err
	}
	page := &errorsPage{Statuses: statusesOf(c)}
	known := c.Components.Schemas["past_error"].Properties["code"].Codes
	for _, name := range sorted(known) {
		page.Codes = append(page.Codes, errorCode{
			Name:   name,
			Status: known[name].Status,
			Means:  prose(known[name].Means),
			Do:     prose(known[name].Do),
			Happen: happenings(ref, name),
		})
	}
	return page, nil
})

// mostHappenings is how many ways to make an error happen are offered.
const mostHappenings = 3

func happenings(ref *reference, code string) (all []happening) {
	for _, r := range ref.Resources {
		for _, o := range r.Operations {
			at := slices.IndexFunc(o.Examples, func(e example) bool { return e.Code == code })
			if at >= 0 && len(all) < mostHappenings {
				all = append(all,
					happening{o.ID, o.Method, o.Path, o.Examples[at].Name, "/docs/api/" + r.Slug + "#" + o.ID})
			}
		}
	}
	return all
}

// statusesOf are the answers that are not 200, with the statuses they travel under.
func statusesOf(c *contract) (all []errorStatus) {
	under := map[string][]int{}
	for _, path := range c.Paths {
		for _, operation := range []*operationSpec{path.Post, path.Get, path.Delete} {
			if operation == nil {
				continue
			}
			for status, response := range operation.Responses {
				name := strings.TrimPrefix(response.Ref, responsesRef)
				code, err := strconv.Atoi(status)
				if err == nil && code >= http.StatusBadRequest && !slices.Contains(under[name], code) {
					under[name] = append(under[name], code)
				}
			}
		}
	}
	for name, response := range c.Components.Responses {
		if len(response.Statuses) > 0 {
			under[name] = response.Statuses
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(under), func(a, b string) int {
		return slices.Min(under[a]) - slices.Min(under[b])
	}) {
		response := c.Components.Responses[name]
		if response == nil {
			continue
		}
		var statuses []string
		for _, status := range slices.Sorted(slices.Values(under[name])) {
			statuses = append(statuses, strconv.Itoa(status))
		}
		all = append(all, errorStatus{strings.Join(statuses, ", "), prose(response.Description)})
	}
	return all
}

func (p *Pages) errors(w http.ResponseWriter, r *http.Request) {
	found, err := theErrors()
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	if code := r.PathValue("code"); code != "" {
		if !slices.ContainsFunc(found.Codes, func(c errorCode) bool { return c.Name == code }) {
			p.docs(w, r) // which says that the page was not found
			return
		}
		http.Redirect(w, r, "/docs/errors#"+code, http.StatusSeeOther) //nolint:gosec // the code was found in the list
		return
	}
	all, err := p.library()
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	page := *found
	page.Demo, page.CSRF, page.Contents = p.Demo, p.Token(r), contents(all)
	p.Render(w, r, http.StatusOK, "site/errors", web.Page{Title: "Errors", Here: "docs", Data: page})
}
