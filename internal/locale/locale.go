// Package locale writes what buyers read in their own language: the texts of the checkout
// and its receipt, amounts, dates and the names of countries.
//
// A language is a file in words, with one text a line, and a file in countries. To add
// one, translate both and give it a format; the tests name what is missing. Texts for
// merchants and developers are English only, and are not here.
package locale

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/text/language"
)

//go:embed words countries
var files embed.FS

// Language is one that we can speak.
type Language struct {
	Code      string // as the lang attribute has it
	Home      string // the country that a buyer is taken to live in if the browser names none
	Countries []Country

	words  map[string]string
	known  map[string]string // names of countries by their codes
	format format
}

// Country is where a buyer may live.
type Country struct{ Code, Name string }

// English is for buyers whose own language we do not have.
var English = load("en", "US")

// Languages are all that we have, English first.
var Languages = []*Language{English, load("de", "DE"), load("fr", "FR"), load("es", "ES"), load("it", "IT"),
	load("ja", "JP")}

func load(code, home string) *Language {
	l := &Language{Code: code, Home: home, words: map[string]string{}, known: map[string]string{},
		format: formats[code]}
	for _, line := range lines("words/" + code + ".txt") {
		key, text, ok := strings.Cut(line, " = ")
		if _, twice := l.words[key]; !ok || twice {
			panic("words of " + code + ": " + line)
		}
		l.words[key] = text
	}
	for _, line := range lines("countries/" + code + ".txt") {
		country, name, _ := strings.Cut(line, " ")
		l.Countries, l.known[country] = append(l.Countries, Country{country, name}), name
	}
	return l
}

// lines are those of a file that say something.
func lines(file string) (all []string) {
	content, err := files.ReadFile(file)
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimRight(line, "\n"); line != "" && line[0] != '#' {
			all = append(all, line)
		}
	}
	return all
}

// Find is the language of a locale such as "de" or "fr-CA"; nil if we do not have it.
func Find(locale string) *Language {
	code, _, _ := strings.Cut(strings.ToLower(locale), "-")
	for _, l := range Languages {
		if l.Code == code {
			return l
		}
	}
	return nil
}

// Choose is the language of a page: the one that the merchant chose for it, or the first of
// the browser's that we have, or English. accept is the header Accept-Language.
func Choose(locale, accept string) *Language {
	if l := Find(locale); l != nil {
		return l
	}
	tags, _, err := language.ParseAcceptLanguage(accept)
	if err != nil {
		return English
	}
	for _, tag := range tags {
		if l := Find(tag.String()); l != nil {
			return l
		}
	}
	return English
}

// Region is the country in which a browser says that it is; "" if it does not say.
func Region(accept string) string {
	tags, _, err := language.ParseAcceptLanguage(accept)
	if err != nil || len(tags) == 0 {
		return ""
	}
	region, confidence := tags[0].Region()
	if confidence != language.Exact || !English.HasCountry(region.String()) {
		return ""
	}
	return region.String()
}

// HasCountry tells whether a code names a country.
func (l *Language) HasCountry(code string) bool { return l.known[code] != "" }

// Has reports whether the language has a text for the key.
func (l *Language) Has(key string) bool { return l.words[key] != "" }

// Say is a text. values are names of its placeholders, each followed by what replaces it.
func (l *Language) Say(key string, values ...any) string {
	text, known := l.words[key]
	if !known {
		panic("there is no text " + key)
	}
	if len(values) == 0 {
		return text
	}
	pairs := make([]string, len(values))
	for i, value := range values {
		pairs[i] = fmt.Sprint(value)
		if i%2 == 0 {
			pairs[i] = "{" + pairs[i] + "}"
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Count is a text about a number of things, which has a form for one of them.
func (l *Language) Count(key string, n int64) string {
	if n == 1 {
		return l.Say(key+"_one", "n", n)
	}
	return l.Say(key+"_other", "n", n)
}

// JSON are some of the texts, for a page's script.
func (l *Language) JSON(keys ...string) string {
	chosen := make(map[string]string, len(keys))
	for _, key := range keys {
		chosen[key] = l.Say(key)
	}
	text, err := json.Marshal(chosen)
	if err != nil {
		panic(err) // a map of strings
	}
	return string(text)
}

// Decline says to a buyer why a card was not charged. An error that we have no text for
// keeps the API's own in English, and says in other languages only that it failed.
func (l *Language) Decline(code, declineCode, message string) string {
	for _, ending := range []string{"_authentication_failure", "email_invalid"} {
		if strings.HasSuffix(code, ending) {
			return l.Say("decline_" + strings.TrimPrefix(ending, "_"))
		}
	}
	for _, key := range []string{"decline_" + declineCode, "decline_" + code} {
		if l.Has(key) {
			return l.Say(key)
		}
	}
	if l == English {
		return message
	}
	return l.Say("payment_failed")
}
