package testcard

import (
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"
)

// Mentions reports whether a text contains what looks like a card number, however its
// digits are spaced: as many digits as the network that its first digits name uses, with
// the right check digit.
//
// It has to let other numbers through, because the text of a payment may contain many.
// Letters may touch a number that has nothing between its digits; otherwise a word with a letter that touches a digit
// is an ID. UUIDs, IBANs and hexadecimal words of 20 characters or more, such as digests, are not looked at.
// Lengths that no large network issues any more, such as the 13 digits of old Visa
// cards, are those of telephone numbers.
//
// A reader takes the digits of any script for digits and does not see characters without a width. A URL may have the
// spaces between the groups escaped.
func Mentions(text string) bool {
	if len(text) < 14 {
		return false
	}
	if strings.Contains(text, "%") && mentions(unescaped(text)) {
		return true
	}
	return mentions(text)
}

func mentions(text string) bool {
	text = strings.Map(asRead, text)
	if !mayMention(text) {
		return false
	}
	for _, run := range digitRuns.FindAllStringIndex(text, -1) {
		if inLonger(text, run[0], run[1]) {
			continue
		}
		from, to := withoutWords(text, run[0], run[1])
		if holdsNumber(groups.FindAllString(text[from:to], -1)) || isInWord(text, run[0], run[1]) {
			return true
		}
	}
	return false
}

// isInWord says whether the first or the last group of a run is a number that a letter touches.
func isInWord(text string, from, to int) bool {
	all := groups.FindAllStringIndex(text[from:to], -1)
	for _, at := range [][]int{all[0], all[len(all)-1]} {
		begin, end := from+at[0], from+at[1]
		touched := begin > 0 && isLetter(text[begin-1]) || end < len(text) && isLetter(text[end])
		if touched && isNumber(text[begin:end]) && !inDigest(text, begin, end) {
			return true
		}
	}
	return false
}

// shortestDigest is how many hexadecimal digits a word has that is taken for a digest or an ID. Of a million random
// words, some 60 of 32 digits have a card number between two letters, and some 20 of 16 digits.
const shortestDigest = 20

func inDigest(text string, from, to int) bool {
	for from > 0 && isHex(text[from-1]) {
		from--
	}
	for to < len(text) && isHex(text[to]) {
		to++
	}
	return to-from >= shortestDigest
}

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// Embeds reports whether a text has the digits of a card number in a row, no matter what is around them. Mentions
// accepts IDs and digests; Embeds is for what can be dropped, such as the ID of a client's trace.
func Embeds(text string) bool {
	for _, run := range groups.FindAllString(text, -1) {
		for begin := range run {
			for length := 14; length <= 16 && begin+length <= len(run); length++ {
				if isNumber(run[begin : begin+length]) {
					return true
				}
			}
		}
	}
	return false
}

// asRead is what a reader takes a character for.
func asRead(r rune) rune {
	switch {
	case r < unicode.MaxASCII:
		return r
	case unicode.Is(unicode.Cf, r):
		return -1
	}
	code := int64(r)
	for _, digits := range unicode.Nd.R16 { // each range has whole sets of ten
		if int64(digits.Lo) <= code && code <= int64(digits.Hi) {
			return asciiDigit(code - int64(digits.Lo))
		}
	}
	for _, digits := range unicode.Nd.R32 {
		if int64(digits.Lo) <= code && code <= int64(digits.Hi) {
			return asciiDigit(code - int64(digits.Lo))
		}
	}
	return r
}

// asciiDigit is the digit at a place in sets of ten.
func asciiDigit(place int64) rune { return rune("0123456789"[place%10]) }

var escapes = regexp.MustCompile(`(?:%[0-9A-Fa-f]{2})+`)

// unescaped is a URL as its server reads it. Everything but escapes stays the same.
func unescaped(text string) string {
	return escapes.ReplaceAllStringFunc(strings.ReplaceAll(text, "+", " "), func(escaped string) string {
		decoded, err := hex.DecodeString(strings.ReplaceAll(escaped, "%", ""))
		if err != nil {
			return escaped
		}
		return string(decoded)
	})
}

// mayMention is a quick look: few texts have as many digits.
func mayMention(text string) bool {
	digits := 0
	for i := range len(text) {
		if isDigit(text[i]) {
			digits++
		}
	}
	return digits >= 14
}

var (
	// Up to three characters that people put between the groups of a number.
	digitRuns = regexp.MustCompile(`[0-9](?:[\s\p{Z}./_\p{Pd}]{0,3}[0-9])*`)
	groups    = regexp.MustCompile(`[0-9]+`)
	// Both begin or end in a way that a run of digits does not show.
	uuid = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	iban = regexp.MustCompile(`\b[A-Z]{2}[0-9]{2}(?: ?[0-9A-Z]{4}){3,7}(?: ?[0-9A-Z]{1,3})?\b`)
)

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// withoutWords takes the first and the last word of a run of digits away where they touch a letter: in "SAVE10 4242…",
// 10 is a part of SAVE10, and the number begins behind it.
func withoutWords(text string, from, to int) (begin, end int) {
	if from > 0 && isLetter(text[from-1]) {
		space := strings.IndexFunc(text[from:to], unicode.IsSpace)
		if space < 0 {
			return to, to
		}
		from += space
	}
	if to < len(text) && isLetter(text[to]) {
		to = from + max(0, strings.LastIndexFunc(text[from:to], unicode.IsSpace))
	}
	return from, to
}

// inLonger says whether a run of digits is a part of a UUID or an IBAN.
func inLonger(text string, from, to int) bool {
	for _, longer := range []*regexp.Regexp{uuid, iban} {
		for _, at := range longer.FindAllStringIndex(text, -1) {
			if from < at[1] && at[0] < to {
				return true
			}
		}
	}
	return false
}

// holdsNumber looks at every sequence of groups: an expiry date may follow a number.
func holdsNumber(groups []string) bool {
	for i := range groups {
		var digits string
		for _, group := range groups[i:] {
			digits += group
			if len(digits) > 16 {
				break
			}
			if isNumber(digits) {
				return true
			}
		}
	}
	return false
}

func isNumber(digits string) bool { return issued.MatchString(digits) && luhn(digits) }

// issued are the lengths and first digits of the networks: Visa, Mastercard, Discover,
// UnionPay, JCB, American Express, Diners Club.
var issued = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`4[0-9]{15}`,
	`5[1-5][0-9]{14}`, `2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}`,
	`6(?:011|4[4-9][0-9]|5[0-9]{2})[0-9]{12}`,
	`62[0-9]{14}`,
	`35(?:2[89]|[3-8][0-9])[0-9]{12}`,
	`3[47][0-9]{13}`,
	`3(?:0[0-5]|[68][0-9])[0-9]{11}(?:[0-9]{2})?`,
}, "|") + `)$`)
