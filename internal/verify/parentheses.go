package verify

import "strings"

// flat is a definition without the parentheses that mean nothing: PostgreSQL
// prints ((a OR b) OR c) for what it made of a comparison of rows, and (a OR b OR c)
// once that text was read again, as out of a dump.
func flat(definition string) string {
	before, inside, after, found := cutGroup(definition)
	if !found {
		return definition
	}
	return before + "(" + flatList(flat(inside)) + ")" + flat(after)
}

// flatList takes the lists among a list's operands apart that have its own word between theirs.
func flatList(list string) string {
	for _, word := range []string{" AND ", " OR "} {
		operands := operandsOf(list, word)
		for i, o := range operands {
			inner := o[1 : len(o)-1]
			if len(operandsOf(inner, word)) > 1 {
				operands[i] = inner
			}
		}
		if len(operands) > 1 {
			return strings.Join(operands, word)
		}
	}
	return list
}

// operandsOf are a list's, each in parentheses; nil if it is not a list with that word.
func operandsOf(list, word string) (operands []string) {
	for {
		before, inside, after, found := cutGroup(list)
		if !found || before != "" {
			return nil
		}
		operands = append(operands, "("+inside+")")
		if after == "" {
			return operands
		}
		list, found = strings.CutPrefix(after, word)
		if !found {
			return nil
		}
	}
}

// cutGroup finds the first pair of parentheses outside of quotes.
func cutGroup(text string) (before, inside, after string, found bool) {
	depth, begin, quoted := 0, 0, false
	for i, c := range []byte(text) {
		switch {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == '(':
			if depth == 0 {
				begin = i
			}
			depth++
		case c == ')':
			depth--
			if depth == 0 {
				return text[:begin], text[begin+1 : i], text[i+1:], true
			}
		}
	}
	return text, "", "", false
}
