package docsite

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// A sample as a program. The programs of a chain all read a field of an answer in
// the same way, the first one of that name: an object's id is its first field.

// last is a field's own name: "id" of "data.0.id".
func last(field string) string { return field[strings.LastIndex(field, ".")+1:] }

// chained tells whether a sample has to read an answer.
func chained(steps []step) bool { return len(steps) > 1 }

// Shell

const pickInShell = `# pick reads a field of an answer
pick() { printf %s "$1" | grep -o "\"$2\": *\"[^\"]*" | head -1 | cut -d'"' -f4; }

`

func inShell(base string, steps []step) string {
	var b strings.Builder
	if chained(steps) {
		b.WriteString(pickInShell)
	}
	for _, s := range steps {
		switch ask := curl(base, s); {
		case s.Until != "":
			fmt.Fprintf(&b, "until %[1]s=$(%[2]s)\n  [ \"$(pick \"$%[1]s\" %[3]s)\" ]\ndo sleep 1; done\n\n", s.Answer,
				ask, last(s.Until))
		case s.Answer != "":
			fmt.Fprintf(&b, "%s=$(%s)\n\n", s.Answer, ask)
		default:
			b.WriteString(ask)
		}
	}
	return b.String()
}

func curl(base string, s step) string {
	options := "curl "
	if s.Answer != "" {
		options += "-s " // no progress bar in an answer that is not shown
	}
	switch {
	case s.Method == http.MethodGet && len(s.Params) > 0:
		options += "-G "
	case sends(s.Method) && len(s.Params) == 0, s.Method == http.MethodDelete:
		options += "-X " + s.Method + " "
	}
	lines := []string{options + s.Path.after(base).shell(), "-u " + demoKey + ":"}
	if sends(s.Method) {
		lines = append(lines, `-H "Idempotency-Key: $(date +%s%N)"`)
	}
	for _, p := range s.Params {
		lines = append(lines, "--data-urlencode "+append(p[0].after(""), p[1].after("=")...).shell())
	}
	return strings.Join(lines, " \\\n  ")
}

func (t text) after(plain string) text { return append(text{{Plain: plain}}, t...) }

// plain is a text without fields as it is.
func (t text) plain() (whole string, is bool) {
	for _, p := range t {
		if p.Answer != "" {
			return "", false
		}
		whole += p.Plain
	}
	return whole, true
}

func (t text) shell() string {
	if whole, is := t.plain(); is {
		return quote(whole)
	}
	var b strings.Builder
	for _, p := range t {
		if p.Answer != "" {
			fmt.Fprintf(&b, `$(pick "$%s" %s)`, p.Answer, last(p.Field))
			continue
		}
		b.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(p.Plain))
	}
	return `"` + b.String() + `"`
}

func quote(text string) string {
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/._-=@") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Node

const askInNode = `const ask = async (method, path, fields = []) => {
  const sent = method === "POST", params = new URLSearchParams(fields);
  const response = await fetch("%s" + path + (sent ? "" : "?" + params), {
    method,
    headers: { authorization: "Bearer %s", ...(sent && { "idempotency-key": crypto.randomUUID() }) },
    body: sent ? params : undefined,
  });
  return response.json();
};

`

func inNode(base string, steps []step) string {
	var b strings.Builder
	fmt.Fprintf(&b, askInNode, base, demoKey)
	for _, s := range steps {
		ask := fmt.Sprintf("await ask(%q, %s%s)", s.Method, s.Path.node(), paramsInNode(s.Params))
		switch {
		case s.Until != "":
			fmt.Fprintf(&b,
				"let %[1]s;\ndo {\n  await new Promise((awake) => setTimeout(awake, 500));\n  %[1]s = %[2]s;\n} "+
					"while (!%[3]s);\n\n", camel(s.Answer), ask, fieldInNode(s.Answer, s.Until))
		case s.Answer != "":
			fmt.Fprintf(&b, "const %s = %s;\n\n", camel(s.Answer), ask)
		default:
			fmt.Fprintf(&b, "console.log(%s);", ask)
		}
	}
	return b.String()
}

func paramsInNode(params [][2]text) string {
	if len(params) == 0 {
		return ""
	}
	var b strings.Builder
	for _, p := range params {
		fmt.Fprintf(&b, "  [%s, %s],\n", p[0].node(), p[1].node())
	}
	return ", [\n" + b.String() + "]"
}

func (t text) node() string {
	if whole, is := t.plain(); is {
		return strconv.Quote(whole)
	}
	var b strings.Builder
	for _, p := range t {
		if p.Answer != "" {
			b.WriteString("${" + fieldInNode(p.Answer, p.Field) + "}")
			continue
		}
		b.WriteString(strings.NewReplacer(`\`, `\\`, "`", "\\`", "${", `\${`).Replace(p.Plain))
	}
	return "`" + b.String() + "`"
}

// fieldInNode is disputes.data[0]?.id for "data.0.id".
func fieldInNode(answer, field string) string {
	path := camel(answer)
	for _, name := range strings.Split(field, ".") {
		if _, err := strconv.Atoi(name); err == nil {
			path += "[" + name + "]?"
			continue
		}
		path += "." + name
	}
	return path
}

// Go

const programInGo = `package main

import (
%s)

func main() {
%s}

// ask sends a request with fields, names and values by turns, and returns the answer.
func ask(method, path string, fields ...string) string {
	params := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		params.Add(fields[i], fields[i+1])
	}
	query, body := "?"+params.Encode(), ""
	if method == http.MethodPost {
		query, body = "", params.Encode()
	}
	request, err := http.NewRequest(method, "%s"+path+query, strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.SetBasicAuth("%s", "")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Idempotency-Key", rand.Text())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	return string(answer)
}`

const pickInGo = `

// pick returns the first field called name in an answer, and "" if there is none.
func pick(answer, name string) string {
	found := regexp.MustCompile("\"" + name + "\": *\"([^\"]*)").FindStringSubmatch(answer)
	if found == nil {
		return ""
	}
	return found[1]
}`

func inGo(base string, steps []step) string {
	packages := []string{"crypto/rand", "fmt", "io", "log", "net/http", "net/url", "strings"}
	if chained(steps) {
		packages = append(packages, "regexp")
	}
	var b strings.Builder
	for _, s := range steps {
		ask := fmt.Sprintf("ask(%q, %s%s)", s.Method, s.Path.golang(), paramsInGo(s.Params))
		switch {
		case s.Until != "":
			packages = append(packages, "time")
			fmt.Fprintf(&b,
				"\t%[1]s := \"\"\n\tfor pick(%[1]s, %[2]q) == \"\" {\n\t\ttime.Sleep(time.Second)\n\t\t%[1]s = "+
					"%[3]s\n\t}\n", camel(s.Answer), last(s.Until), strings.ReplaceAll(ask, "\n", "\n\t"))
		case s.Answer != "":
			fmt.Fprintf(&b, "\t%s := %s\n", camel(s.Answer), ask)
		default:
			fmt.Fprintf(&b, "\tfmt.Println(%s)\n", ask)
		}
	}
	imports := ""
	slices.Sort(packages)
	for _, name := range packages {
		imports += fmt.Sprintf("\t%q\n", name)
	}
	program := fmt.Sprintf(programInGo, imports, b.String(), base, demoKey)
	if chained(steps) {
		program += pickInGo
	}
	return program
}

func paramsInGo(params [][2]text) string {
	if len(params) == 0 {
		return ""
	}
	var b strings.Builder
	for _, p := range params {
		fmt.Fprintf(&b, "\t\t%s, %s,\n", p[0].golang(), p[1].golang())
	}
	return ",\n" + b.String() + "\t"
}

func (t text) golang() string {
	if whole, is := t.plain(); is {
		return strconv.Quote(whole)
	}
	var parts []string
	for _, p := range t {
		switch {
		case p.Answer != "":
			parts = append(parts, fmt.Sprintf("pick(%s, %q)", camel(p.Answer), last(p.Field)))
		case p.Plain != "":
			parts = append(parts, strconv.Quote(p.Plain))
		}
	}
	return strings.Join(parts, "+")
}

// camel is paymentIntent for payment_intent.
func camel(name string) string {
	words := strings.Split(name, "_")
	for i := range words[1:] {
		words[i+1] = strings.ToUpper(words[i+1][:1]) + words[i+1][1:]
	}
	return strings.Join(words, "")
}
