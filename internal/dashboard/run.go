package dashboard

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

	"github.com/ratchet-pay/ratchet/web"
)

// ran is an example that was run.
type ran struct {
	Operation operation
	Path      string
	Status    int
	Wanted    int
	RequestID string
	Kept      bool // there is a request to inspect: one that only reads leaves none
	Body      string
}

var errNotHere = errors.New("the contract has no such example")

// postRun runs an example of the contract for the demo's first account, and what
// has to exist before it.
func (s *Server) postRun(w http.ResponseWriter, r *http.Request) {
	account, err := s.demoAccount(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if !s.Demo || account == "" {
		http.Error(w, "Only a demo runs examples.", http.StatusForbidden)
		return
	}
	page, err := s.run(r, account, r.PostFormValue("operation"), r.PostFormValue("example"), 0)
	if errors.Is(err, errNotHere) {
		http.NotFound(w, r)
		return
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.render(w, r, http.StatusOK, "site/ran", web.Page{Title: page.Operation.Summary, Here: "api", Data: page})
}

// deepest is how long a chain of examples may be that make things for each other.
const deepest = 6

// What an example waits for has come within longestUntil, or the acquirer is away.
const longestUntil, lookAgain = 10 * time.Second, 200 * time.Millisecond

func (s *Server) run(r *http.Request, account, id, name string, depth int) (*ran, error) {
	o, e, err := findExample(id, name)
	if err != nil || depth > deepest {
		return nil, errors.Join(errNotHere, err)
	}
	values := map[string]string{}
	for variable, value := range e.Path {
		values[variable] = value
	}
	before := map[string]*ran{} // an object that two placeholders name is made once
	for _, variable := range sorted(e.Given) {
		from, field := origin(e.Given[variable])
		if before[from] == nil {
			operation, example, _ := strings.Cut(from, "/")
			if before[from], err = s.run(r, account, operation, example, depth+1); err != nil {
				return nil, err
			}
		}
		values[variable] = fieldOf(before[from].Body, field)
	}
	form := url.Values{}
	for _, f := range append(fields(fill(e.Query, values)), fields(fill(e.Body, values))...) {
		form.Add(f[0], f[1])
	}
	path, key := fill(o.Path, values), ""
	if o.Method == http.MethodPost {
		key = newKey("example")
	} else if len(form) > 0 {
		path, form = path+"?"+form.Encode(), nil
	}
	a, err := s.ask(r, account, false, o.Method, path, key, form)
	for waited := time.Duration(0); err == nil && e.Until != "" && fieldOf(a.Body.String(), e.Until) == "" && waited < longestUntil; waited += lookAgain {
		time.Sleep(lookAgain)
		a, err = s.ask(r, account, false, o.Method, path, key, form)
	}
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	return &ran{Operation: o, Path: path, Status: a.Status, Wanted: e.Status, RequestID: a.RequestID(), Kept: o.Flow != "" && a.Header().Get("Request-Id") != "" && a.Status < 500 && s.kept(r, a.RequestID()), Body: a.Body.String()}, nil
}

const requestIsKept = `SELECT true AS taken FROM accounts a JOIN requests r ON r.account_id = a.id AND r.id = @id`

// kept tells whether there is a request to look at: what is refused before it
// begins leaves none.
func (s *Server) kept(r *http.Request, id string) bool {
	found, err := read[struct{ Taken bool }](r.Context(), s, requestIsKept, map[string]any{"id": id})
	return err == nil && len(found) > 0
}

// findExample finds an example by name, or the first that succeeds.
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
