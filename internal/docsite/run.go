package docsite

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/web"
)

// ran is an example that was run.
type ran struct {
	Operation operation
	Path      string
	Status    int
	RequestID string
	Kept      bool // there is a request to inspect: one that only reads leaves none
	Body      string
}

var errNotHere = errors.New("example not found in the contract")

// postRun runs an example of the contract for the demo's first account, and what
// has to exist before it.
func (p *Pages) postRun(w http.ResponseWriter, r *http.Request) {
	account, err := p.demoAccount(r)
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	if !p.Demo || account == "" {
		http.Error(w, "Examples run only in the demo.", http.StatusForbidden)
		return
	}
	page, err := p.run(r, account, r.PostFormValue("operation"), r.PostFormValue("example"))
	if errors.Is(err, errNotHere) {
		http.NotFound(w, r)
		return
	}
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	p.Render(w, r, http.StatusOK, "site/ran", web.Page{Title: page.Operation.Summary, Here: "api", Data: page})
}

// What an example waits for has come within longestUntil, or the acquirer is away.
const longestUntil, lookAgain = 10 * time.Second, 200 * time.Millisecond

// run takes the steps of an example's sample, and reports the last.
func (p *Pages) run(r *http.Request, account, id, name string) (*ran, error) {
	o, e, err := findExample(id, name)
	if err != nil {
		return nil, err
	}
	var c chain
	if err := c.add(o, e, 0); err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	page, answers := &ran{Operation: o}, map[string]string{}
	for _, step := range c.steps {
		a, err := p.take(r, account, step, answers)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", id, err)
		}
		answers[step.Answer] = a.Body.String()
		page.Path = step.Path.with(answers)
		page.Status = a.Status
		page.RequestID = a.RequestID()
		page.Body = a.Body.String()
	}
	page.Kept = o.Flow != "" && page.RequestID != "" && page.Status < 500 && p.kept(r, page.RequestID)
	return page, nil
}

// take asks for one step, and again until what it waits for is there.
func (p *Pages) take(
	r *http.Request, account string, step step, answers map[string]string,
) (*api.InternalResponse, error) {
	path, key, form := step.Path.with(answers), "", url.Values{}
	for _, p := range step.Params {
		form.Add(p[0].with(answers), p[1].with(answers))
	}
	if sends(step.Method) {
		key = newKey()
	} else if len(form) > 0 {
		path, form = path+"?"+form.Encode(), nil
	}
	for waited := time.Duration(0); ; waited += lookAgain {
		a, err := p.Ask(r, account, step.Method, path, key, form)
		if err != nil || step.Until == "" || waited >= longestUntil || fieldOf(a.Body.String(), step.Until) != "" {
			return a, err
		}
		time.Sleep(lookAgain)
	}
}

const requestIsKept = `SELECT true AS taken FROM accounts a JOIN requests r ON r.account_id = a.id AND r.id = @id`

// kept tells whether there is a request to look at: what is refused before it
// begins leaves none.
func (p *Pages) kept(r *http.Request, id string) bool {
	found, err := read[struct{ Taken bool }](r.Context(), p.Pool, requestIsKept, map[string]any{"id": id})
	return err == nil && len(found) > 0
}

// findExample finds an example by name, or the first if name is "".
func findExample(id, name string) (operation, example, error) {
	ref, err := theReference()
	if err != nil {
		return operation{}, example{}, err
	}
	for _, resource := range ref.Resources {
		for _, o := range resource.Operations {
			at := slices.IndexFunc(o.Examples, func(e example) bool { return e.Name == name || name == "" })
			if o.ID == id && at >= 0 {
				return o, o.Examples[at], nil
			}
		}
	}
	return operation{}, example{}, errNotHere
}

// fieldOf follows a dotted path into an answer.
func fieldOf(body, path string) string {
	var at any
	if json.Unmarshal([]byte(body), &at) != nil {
		return ""
	}
	for _, step := range strings.Split(path, ".") {
		switch inside := at.(type) {
		case map[string]any:
			at = inside[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(inside) {
				return ""
			}
			at = inside[i]
		}
	}
	text, _ := at.(string)
	return text
}
