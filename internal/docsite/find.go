package docsite

import (
	"cmp"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/ratchet-pay/ratchet/web"
)

// passage is a part of a page, from one heading to the next: what the search finds.
type passage struct {
	Page, Heading string
	Address       string
	text          string // in plain words
	lower         string // heading and text, for comparison
}

// found is a passage that has all the words that were searched for.
type found struct {
	passage
	Excerpt template.HTML
	rank    int
}

type findPage struct {
	Query    string
	Contents []section
	Found    []found
	More     bool
}

// mostFound is how many passages a page of results shows.
const mostFound = 30

var sectionStart = regexp.MustCompile(`<h[123] id="`)

// index cuts all pages into passages: the documents, the operations of the API, and
// the error codes.
func (p *Pages) index() (all []passage, err error) {
	documents, err := p.library()
	if err != nil {
		return nil, err
	}
	add := func(page, title, address, text string) {
		all = append(all, passage{page, title, address, text, strings.ToLower(page + " " + title + " " + text)})
	}
	for _, address := range sorted(documents) {
		d := documents[address]
		starts := append(sectionStart.FindAllStringIndex(string(d.Body), -1), []int{len(d.Body)})
		for i, from := range starts[:len(starts)-1] {
			part := string(d.Body)[from[0]:starts[i+1][0]]
			head, text, _ := strings.Cut(part, "</h")
			title, anchor := plain(head), ""
			if i > 0 {
				anchor, _, _ = strings.Cut(strings.TrimPrefix(head[4:], `id="`), `"`)
				anchor = "#" + anchor
			}
			_, text, _ = strings.Cut(text, ">")
			add(d.Title, title, address+anchor, plain(text))
		}
	}
	err = indexAPI(add)
	return all, err
}

func indexAPI(add func(page, title, address, text string)) error {
	ref, err := theReference()
	if err != nil {
		return err
	}
	codes, err := theErrors()
	if err != nil {
		return err
	}
	for _, resource := range ref.Resources {
		for _, o := range resource.Operations {
			add("API reference", o.Summary, "/docs/api/"+resource.Slug+"#"+o.ID,
				o.Method+" "+o.Path+" "+plain(string(o.Description)))
		}
	}
	for _, code := range codes.Codes {
		add("Errors", code.Name, "/docs/errors#"+code.Name, plain(string(code.Means)+" "+string(code.Do)))
	}
	return nil
}

// search lists the passages that have all words of a query, the closest first.
func search(all []passage, query string) (hits []found) {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return nil
	}
	for _, one := range all {
		rank := 0
		for _, word := range words {
			switch {
			case strings.Contains(strings.ToLower(one.Heading), word):
				rank += 4
			case strings.Contains(strings.ToLower(one.Page), word):
				rank += 2
			case strings.Contains(one.lower, word):
				rank++
			default:
				rank = -1 << 20
			}
		}
		if strings.Contains(strings.ToLower(one.Heading), strings.Join(words, " ")) {
			rank += 8
		}
		if rank > 0 {
			hits = append(hits, found{one, excerpt(one.text, words[0]), rank})
		}
	}
	slices.SortStableFunc(hits, func(a, b found) int { return cmp.Compare(b.rank, a.rank) })
	return hits
}

// excerptLength is how many characters of a passage are shown around a word.
const excerptLength = 160

// excerpt is the part of a text around a word, with the word marked.
func excerpt(text, word string) template.HTML {
	letters := []rune(text)
	at := strings.Index(strings.ToLower(text), word)
	if at < 0 || len(strings.ToLower(text)) != len(text) {
		if len(letters) > excerptLength {
			letters = append(letters[:excerptLength:excerptLength], '…')
		}
		return template.HTML(template.HTMLEscapeString(string(letters)))
	}
	begin := len([]rune(text[:at]))
	from, to := max(0, begin-excerptLength/3), min(len(letters), begin+excerptLength*2/3)
	end := min(begin+len([]rune(word)), to)
	before, after := "", ""
	if from > 0 {
		before = "…"
	}
	if to < len(letters) {
		after = "…"
	}
	escape := func(part []rune) string { return template.HTMLEscapeString(string(part)) }
	return template.HTML(before + escape(letters[from:begin]) + "<mark>" + escape(letters[begin:end]) + "</mark>" +
		escape(letters[end:to]) + after)
}

// find is the search as a page. While a reader types, a script takes the results out of it.
func (p *Pages) find(w http.ResponseWriter, r *http.Request) {
	all, err := p.passages()
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	documents, err := p.library()
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	page := findPage{Query: strings.TrimSpace(r.FormValue("q")), Contents: contents(documents)}
	page.Found = search(all, page.Query)
	if page.More = len(page.Found) > mostFound; page.More {
		page.Found = page.Found[:mostFound]
	}
	p.Render(w, r, http.StatusOK, "site/find", web.Page{Title: "Search the documentation", Here: "docs", Data: page})
}
