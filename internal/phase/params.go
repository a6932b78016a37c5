package phase

import "bytes"

// withoutNulls removes the members of a JSON object that are null: parameters that were not
// sent, which decode to the same. They would be half of the stored text of a charge, in the
// request and in the audit trail. The object is compact, as encoding/json writes it.
func withoutNulls(object []byte) []byte {
	if len(object) == 0 || object[0] != '{' {
		return object
	}
	kept := make([]byte, 1, len(object))
	kept[0] = '{'
	for rest := object[1:]; len(rest) > 1; {
		end := memberEnd(rest)
		if member := rest[:end]; !bytes.HasSuffix(member, []byte(":null")) {
			if len(kept) > 1 {
				kept = append(kept, ',')
			}
			kept = append(kept, member...)
		}
		rest = rest[end+1:]
	}
	return append(kept, '}')
}

// memberEnd finds the comma or brace after the first member.
func memberEnd(members []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(members); i++ {
		switch c := members[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth > 0 && (c == '}' || c == ']'):
			depth--
		case depth == 0 && (c == ',' || c == '}'):
			return i
		}
	}
	return len(members) - 1
}
