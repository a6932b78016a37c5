package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
)

// Sample is a program that sends a request again.
type Sample struct{ Language, Text string }

// samples are the programs in every language. They read the secret key from SECRET_KEY.
func samples(of idempotency.Summary, params []Param, row sentRow) []Sample {
	return []Sample{{"curl", curl(of, params, row)}, {"Go", inGo(of, params, row)}, {"Node", inNode(of, params, row)},
		{"Python", inPython(of, params, row)}}
}

// headers are what a sample sends besides the secret key.
func headers(of idempotency.Summary, row sentRow) (all []Param) {
	if row.APIVersion != "" {
		all = append(all, Param{"Stripe-Version", row.APIVersion})
	}
	if !of.KeyGenerated {
		all = append(all, Param{"Idempotency-Key", of.Key})
	}
	return all
}

// each writes one line for every pair.
func each(pairs []Param, line string, quote func(string) string) string {
	var b strings.Builder
	for _, p := range pairs {
		fmt.Fprintf(&b, line, quote(p.Name), quote(p.Value))
	}
	return b.String()
}

// inJSON writes a text as JSON does, which JavaScript and Python read, too.
func inJSON(text string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a text always encodes
	return strings.TrimSpace(b.String())
}

const sampleInGo = `package main

import (
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
)

func main() {
	params := url.Values{}
%s	request, err := http.NewRequest(%s, %s, strings.NewReader(params.Encode()))
	if err != nil {
		log.Fatal(err)
	}
	request.SetBasicAuth(os.Getenv("SECRET_KEY"), "")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
%s	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(os.Stdout, response.Body); err != nil {
		log.Fatal(err)
	}
}`

func inGo(of idempotency.Summary, params []Param, row sentRow) string {
	return fmt.Sprintf(sampleInGo, each(params, "\tparams.Add(%s, %s)\n", strconv.Quote), strconv.Quote(of.Method),
		strconv.Quote(row.BaseURL+of.Path),
		each(headers(of, row), "\trequest.Header.Set(%s, %s)\n", strconv.Quote))
}

const sampleInNode = `const response = await fetch(%s, {
  method: %s,
  headers: {
    "Authorization": ` + "`Bearer ${process.env.SECRET_KEY}`" + `,
%s  },
  body: new URLSearchParams([
%s  ]),
});
process.stdout.write(await response.text());`

func inNode(of idempotency.Summary, params []Param, row sentRow) string {
	return fmt.Sprintf(sampleInNode, inJSON(row.BaseURL+of.Path), inJSON(of.Method),
		each(headers(of, row), "    %s: %s,\n", inJSON), each(params, "    [%s, %s],\n", inJSON))
}

const sampleInPython = `import os
import sys
import urllib.error
import urllib.parse
import urllib.request

params = [
%s]
request = urllib.request.Request(
    %s,
    data=urllib.parse.urlencode(params).encode(),
    headers={
        "Authorization": "Bearer " + os.environ["SECRET_KEY"],
%s    },
    method=%s,
)
try:
    response = urllib.request.urlopen(request)
except urllib.error.HTTPError as refusal:
    response = refusal
sys.stdout.buffer.write(response.read())`

func inPython(of idempotency.Summary, params []Param, row sentRow) string {
	return fmt.Sprintf(sampleInPython, each(params, "    (%s, %s),\n", inJSON), inJSON(row.BaseURL+of.Path),
		each(headers(of, row), "        %s: %s,\n", inJSON), inJSON(of.Method))
}

// curl writes the command that sends the request again under its key.
func curl(of idempotency.Summary, params []Param, row sentRow) string {
	lines := []string{"curl -X " + of.Method + " " + shellWord(row.BaseURL+of.Path), `-u "$SECRET_KEY:"`}
	for _, h := range headers(of, row) {
		lines = append(lines, "-H "+shellWord(h.Name+": "+h.Value))
	}
	for _, p := range params {
		lines = append(lines, "--data-urlencode "+shellWord(p.Name+"="+p.Value))
	}
	return strings.Join(lines, " \\\n  ")
}

// shellWord writes a text as one word of a shell.
func shellWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
