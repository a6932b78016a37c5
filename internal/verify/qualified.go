package verify

import "regexp"

// singleTable finds the table's short name in the definition of a view that reads one table.
var singleTable = regexp.MustCompile(` FROM [a-z_]+ ([a-z_]+);$`)

// quotedOrName matches a text in quotes as a whole, so that what looks like a name inside of it is left alone.
var quotedOrName = regexp.MustCompile(`'[^']*'|\b[a-z_]+\.`)

// unqualified is a view's definition without its table's short name before each column, if the view reads one
// table: PostgreSQL 15 prints "SELECT c.id FROM charges c;", and later versions print "SELECT id FROM charges c;".
func unqualified(definition string) string {
	table := singleTable.FindStringSubmatch(definition)
	if table == nil {
		return definition
	}
	return quotedOrName.ReplaceAllStringFunc(definition, func(found string) string {
		if found == table[1]+"." {
			return ""
		}
		return found
	})
}
