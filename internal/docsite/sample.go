package docsite

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// demoKey is public, and works only with a demo.
const demoKey = "sk_test_ratchet_demo"

// sample is an example as three programs that run as they are: they make what the
// example names first.
type sample struct {
	Example        string
	Status         int // what the last answer has
	Curl, Go, Node string
}

// step is one request of a sample.
type step struct {
	Method string
	Path   text
	Params [][2]text // of the query or the body, in their order
	Answer string    // the variable its answer is kept in
	Until  string    // a field that appears later: ask again until it is there
}

// text is what a program puts together: pieces that are as they are, and fields of
// earlier answers.
type text []piece

type piece struct {
	Plain         string
	Answer, Field string // of the variable Answer; "" with a plain piece
}

// with is the text, where these are the answers.
func (t text) with(answers map[string]string) string {
	var b strings.Builder
	for _, p := range t {
		b.WriteString(p.Plain)
		if p.Answer != "" {
			b.WriteString(fieldOf(answers[p.Answer], p.Field))
		}
	}
	return b.String()
}

func sampleOf(base string, o operation, e example) (sample, error) {
	var c chain
	if err := c.add(o, e, 0); err != nil {
		return sample{}, fmt.Errorf("sample of %s: %w", o.ID, err)
	}
	return sample{
		Example: e.Name,
		Status:  e.Status,
		Curl:    inShell(base, c.steps),
		Go:      inGo(base, c.steps),
		Node:    inNode(base, c.steps),
	}, nil
}

// deepest is how long a chain of examples may be that make things for each other.
const deepest = 6

// chain is the steps of a sample, what is needed before what needs it.
type chain struct{ steps []step }

func (c *chain) add(o operation, e example, depth int) error {
	if depth > deepest {
		return errors.New("its examples form a cycle")
	}
	values := map[string]piece{}
	for name, value := range e.Path {
		values[name] = piece{Plain: value}
	}
	made := map[string]string{} // what two placeholders of one example name is made once
	for _, name := range sorted(e.Given) {
		from, field := origin(e.Given[name])
		if made[from] == "" {
			id, example, _ := strings.Cut(from, "/")
			o, e, err := findExample(id, example)
			if err == nil {
				err = c.add(o, e, depth+1)
			}
			if err != nil {
				return err
			}
			made[from] = c.keep(id)
		}
		values[name] = piece{Answer: made[from], Field: field}
	}
	s := step{Method: o.Method, Path: textOf(o.Path, values), Until: e.Until}
	for _, f := range append(fields(e.Query), fields(e.Body)...) {
		s.Params = append(s.Params, [2]text{textOf(f[0], values), textOf(f[1], values)})
	}
	c.steps = append(c.steps, s)
	return nil
}

// keep has the last step's answer kept, and names the variable: what the operation makes.
func (c *chain) keep(operation string) string {
	words := strings.Split(operation, ".")
	name, number := words[max(len(words)-2, 0)], 2
	if words[len(words)-1] == "list" {
		name += "s"
	}
	for base := name; c.taken(name); number++ {
		name = fmt.Sprint(base, number)
	}
	c.steps[len(c.steps)-1].Answer = name
	return name
}

func (c *chain) taken(name string) bool {
	for _, s := range c.steps {
		if s.Answer == name {
			return true
		}
	}
	return false
}

// textOf finds the {placeholders} that have a value. Other braces are the API's own.
func textOf(written string, values map[string]piece) text {
	for name, value := range values {
		before, after, found := strings.Cut(written, "{"+name+"}")
		if found {
			return append(append(textOf(before, values), value), textOf(after, values)...)
		}
	}
	if written == "" {
		return nil
	}
	return text{{Plain: written}}
}

const selectDemoAccount = `
	SELECT account_id AS id FROM api_keys WHERE demo AND kind = 'secret' ORDER BY account_id LIMIT 1`

func (p *Pages) demoAccount(r *http.Request) (string, error) {
	found, err := read[struct{ ID string }](r.Context(), p.Pool, selectDemoAccount, postgres.Args{})
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0].ID, nil
}

// origin reads operation[/example][:field].
func origin(given string) (from, field string) {
	from, field, has := strings.Cut(given, ":")
	if !has {
		field = "id"
	}
	return from, field
}

// fields are the parameters of a query or a body, in their order.
func fields(text string) (all [][2]string) {
	for _, pair := range strings.Split(text, "&") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if decoded, err := url.QueryUnescape(value); err == nil {
			value = decoded
		}
		if name != "" {
			all = append(all, [2]string{name, value})
		}
	}
	return all
}

// sends tells whether a method has its parameters in the body.
func sends(method string) bool { return method == http.MethodPost }
