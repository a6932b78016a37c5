package resource

import (
	"strings"
	"unicode"

	"github.com/ratchet-pay/ratchet/internal/apierror"
)

// searchQuery is a query as it was typed: clauses, all or any of which hold.
type searchQuery struct {
	clauses []searchClause
	any     bool // joined by OR
}

// searchClause is one comparison: -metadata["tier"]:"gold".
type searchClause struct {
	field   string // "email", "payment_method_details.card.last4", "metadata"
	key     string // of metadata
	op      string // ":", "~", ">", "<", ">=", "<="
	value   string // unescaped
	quoted  bool
	negated bool
}

// isNull tells the word null from a text that happens to read so.
func (c searchClause) isNull() bool { return !c.quoted && c.value == "null" }

// maxSearchClauses is Stripe's bound, and what keeps a statement small.
const maxSearchClauses = 10

// parseSearch reads Stripe's search query language:
//
//	query  = clause { [ "AND" ] clause } | clause { "OR" clause }
//	clause = [ "-" ] field op value
//	field  = name { "." name } | metadata[ text ]
//	op     = ":" | "~" | ">=" | "<=" | ">" | "<"
//	value  = text | word          text is in quotes of either kind, \ escapes
//
// The error is the caller's. Whether a field exists is not decided here.
func parseSearch(text string) (searchQuery, error) {
	s, q := searchScanner{rest: text}, searchQuery{}
	joint := ""
	for {
		clause, ok := s.clause()
		if !ok {
			return searchQuery{}, unparsable()
		}
		q.clauses = append(q.clauses, clause)
		if len(q.clauses) > maxSearchClauses {
			return searchQuery{},
				apierror.Invalid("query", "A search query can have at most %d clauses.", maxSearchClauses)
		}
		next, more := s.joint()
		if !more {
			q.any = joint == "OR"
			return q, nil
		}
		if joint != "" && next != joint {
			return searchQuery{}, apierror.Invalid("query", "A search query cannot combine AND with OR.")
		}
		joint = next
	}
}

func unparsable() error {
	return apierror.Invalid("query", "We were unable to parse your search query. "+
		`Try using the format metadata["key"]:"value" to query for metadata or key:"value" to query for other fields.`)
}

// searchScanner takes a query apart from left to right.
type searchScanner struct{ rest string }

func (s *searchScanner) space() (skipped bool) {
	trimmed := strings.TrimLeftFunc(s.rest, unicode.IsSpace)
	skipped = trimmed != s.rest
	s.rest = trimmed
	return skipped
}

func (s *searchScanner) take(prefix string) bool {
	rest, has := strings.CutPrefix(s.rest, prefix)
	s.rest = rest
	return has
}

func (s *searchScanner) while(belongs func(byte) bool) string {
	end := 0
	for end < len(s.rest) && belongs(s.rest[end]) {
		end++
	}
	word := s.rest[:end]
	s.rest = s.rest[end:]
	return word
}

// joint reads what is between two clauses. No word at all means AND.
func (s *searchScanner) joint() (joint string, more bool) {
	s.space()
	if s.rest == "" {
		return "", false
	}
	for _, word := range [...]string{"AND", "OR"} {
		if len(s.rest) < len(word) || !strings.EqualFold(s.rest[:len(word)], word) {
			continue
		}
		if after := (searchScanner{s.rest[len(word):]}); after.atSpace() {
			s.rest = after.rest
			return word, true
		}
	}
	return "AND", true
}

func (s *searchScanner) clause() (c searchClause, ok bool) {
	s.space()
	c.negated = s.take("-")
	c.field = s.while(inFieldName)
	if c.field == "metadata" && s.take("[") {
		if c.key, ok = s.text(); !ok || !s.take("]") {
			return c, false
		}
	}
	for _, op := range [...]string{":", "~", ">=", "<=", ">", "<"} {
		if s.take(op) {
			c.op = op
			break
		}
	}
	if c.field == "" || c.op == "" {
		return c, false
	}
	if c.value, c.quoted = s.text(); c.quoted {
		return c, s.rest == "" || s.atSpace()
	}
	c.value = s.while(inWord)
	return c, c.value != "" && (s.rest == "" || s.atSpace())
}

func (s *searchScanner) atSpace() bool {
	ahead := searchScanner{s.rest}
	return ahead.space()
}

// text reads a text in quotes. Nothing is taken if there is none.
func (s *searchScanner) text() (text string, ok bool) {
	if s.rest == "" || s.rest[0] != '"' && s.rest[0] != '\'' {
		return "", false
	}
	var out strings.Builder
	for i := 1; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == s.rest[0]:
			s.rest = s.rest[i+1:]
			return out.String(), true
		case c == '\\' && i+1 < len(s.rest):
			i++
			out.WriteByte(s.rest[i])
		default:
			out.WriteByte(c)
		}
	}
	return "", false
}

func inFieldName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '.'
}

func inWord(c byte) bool { return inFieldName(c) || c >= 'A' && c <= 'Z' || c == '-' }
