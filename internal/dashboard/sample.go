package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// demoKey is what everybody may use with a demo, and nobody with anything else.
const demoKey = "sk_test_ratchet_demo"

// sample is an example as three programs that run as they are.
type sample struct {
	Example        string
	Curl, Go, Node string
	Missing        string // an operation that has to be run first: what the sample names is not here yet
}

// The newest object that a flow has made stands for "the one that was made".
const selectMade = `
	SELECT coalesce(object_id, '') AS id FROM requests
	WHERE account_id = @account_id AND flow = @flow AND status = 200
	ORDER BY id DESC LIMIT 1`

const selectDemoAccount = `SELECT account_id AS id FROM api_keys WHERE demo AND kind = 'secret' ORDER BY account_id LIMIT 1`

func (s *Server) demoAccount(r *http.Request) (string, error) {
	found, err := read[struct{ ID string }](r.Context(), s, selectDemoAccount, nil)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0].ID, nil
}

// present finds objects of the demo for an example's placeholders. What is not
// there is left out.
func (s *Server) present(r *http.Request, e example) (map[string]string, error) {
	values := map[string]string{}
	for name, value := range e.Path {
		values[name] = value
	}
	account, err := s.demoAccount(r)
	if err != nil || account == "" {
		return values, err
	}
	for name, from := range e.Given {
		operation, field := origin(from)
		if field != "id" {
			continue
		}
		made, err := read[struct{ ID string }](r.Context(), s, selectMade, pgx.StrictNamedArgs{"account_id": account, "flow": operation})
		if err != nil {
			return nil, err
		}
		if len(made) == 1 && made[0].ID != "" {
			values[name] = made[0].ID
		}
	}
	return values, nil
}

// origin reads operation[/example][:field].
func origin(from string) (operation, field string) {
	operation, field, has := strings.Cut(from, ":")
	if !has {
		field = "id"
	}
	operation, _, _ = strings.Cut(operation, "/")
	return operation, field
}

func fill(text string, values map[string]string) string {
	for name, value := range values {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
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

func sampleOf(base string, o operation, e example, values map[string]string) sample {
	out := sample{Example: e.Name}
	for name, from := range e.Given {
		if values[name] == "" {
			out.Missing, _ = origin(from)
		}
	}
	address := base + fill(o.Path, values)
	query, body := fields(fill(e.Query, values)), fields(fill(e.Body, values))
	out.Curl = curl(o.Method, address, query, body)
	out.Node = node(o.Method, address, query, body)
	out.Go = golang(o.Method, address, query, body)
	return out
}

func curl(method, address string, query, body [][2]string) string {
	lines := []string{"curl " + quote(address) + " -u " + demoKey + ":"}
	switch {
	case method == http.MethodGet && len(query) > 0:
		lines[0] = "curl -G " + quote(address) + " -u " + demoKey + ":"
	case method == http.MethodPost && len(body) == 0:
		lines[0] = "curl -X POST " + quote(address) + " -u " + demoKey + ":"
	case method == http.MethodDelete:
		lines[0] = "curl -X DELETE " + quote(address) + " -u " + demoKey + ":"
	}
	if method == http.MethodPost {
		lines = append(lines, `-H "Idempotency-Key: $(date +%s%N)"`)
	}
	for _, f := range append(query, body...) {
		lines = append(lines, "--data-urlencode "+quote(f[0]+"="+f[1]))
	}
	return strings.Join(lines, " \\\n  ")
}

func quote(text string) string {
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/._-=@") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func node(method, address string, query, body [][2]string) string {
	var b strings.Builder
	params := append(query, body...)
	if len(params) > 0 {
		b.WriteString("const params = new URLSearchParams([\n")
		for _, f := range params {
			fmt.Fprintf(&b, "  [%q, %q],\n", f[0], f[1])
		}
		b.WriteString("]);\n")
	}
	target := fmt.Sprintf("%q", address)
	if method != http.MethodPost && len(params) > 0 {
		target = fmt.Sprintf("%q + params", address+"?")
	}
	fmt.Fprintf(&b, "const response = await fetch(%s, {\n  method: %q,\n  headers: {\n    authorization: \"Bearer %s\",\n", target, method, demoKey)
	if method == http.MethodPost {
		b.WriteString("    \"idempotency-key\": crypto.randomUUID(),\n")
	}
	b.WriteString("  },\n")
	if method == http.MethodPost && len(params) > 0 {
		b.WriteString("  body: params,\n")
	}
	b.WriteString("});\nconsole.log(response.status, await response.json());")
	return b.String()
}

func golang(method, address string, query, body [][2]string) string {
	var b strings.Builder
	params := append(query, body...)
	list := "url.Values{}"
	if len(params) > 0 {
		list = "url.Values{\n"
		for _, f := range merge(params) {
			list += fmt.Sprintf("\t\t%q: {%s},\n", f[0], f[1])
		}
		list += "\t}"
	}
	key := ""
	if method == http.MethodPost {
		key = "\n\trequest.Header.Set(\"Idempotency-Key\", rand.Text())\n\trequest.Header.Set(\"Content-Type\", \"application/x-www-form-urlencoded\")"
	}
	imports, content, target := `"io"
	"log"
	"net/http"
	"net/url"
	"os"`, "nil", fmt.Sprintf("%q+params.Encode()", address+"?")
	if method == http.MethodPost {
		imports = "\"crypto/rand\"\n\t" + strings.Replace(imports, "\"os\"", "\"os\"\n\t\"strings\"", 1)
		content, target = "strings.NewReader(params.Encode())", fmt.Sprintf("%q", address)
	}
	fmt.Fprintf(&b, "package main\n\nimport (\n\t%s\n)\n\nfunc main() {\n\tparams := %s\n\trequest, err := http.NewRequest(%q, %s, %s)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\trequest.SetBasicAuth(%q, \"\")%s\n",
		imports, list, method, target, content, demoKey, key)
	b.WriteString("\tresponse, err := http.DefaultClient.Do(request)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tdefer response.Body.Close()\n\t_, _ = io.Copy(os.Stdout, response.Body)\n}")
	return b.String()
}

// merge brings the values of a name together, as url.Values wants them.
func merge(params [][2]string) (all [][2]string) {
	at := map[string]int{}
	for _, f := range params {
		value := fmt.Sprintf("%q", f[1])
		if i, known := at[f[0]]; known {
			all[i][1] += ", " + value
			continue
		}
		at[f[0]] = len(all)
		all = append(all, [2]string{f[0], value})
	}
	return all
}
