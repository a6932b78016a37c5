package verify

import "testing"

func TestParenthesesThatMeanNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		one, other string
		same       bool
	}{
		"a list in a list": {"WHEN (((a = b) OR (((c) OR (d)) OR (e)))) EXECUTE f('x')",
			"WHEN (((a = b) OR (c) OR (d) OR (e))) EXECUTE f('x')", true},
		"a list with another word":      {"(((a) OR (b)) AND (c))", "((a) OR ((b) AND (c)))", false},
		"a list with another word left": {"(((a) OR (b)) AND (c))", "((a) OR (b) AND (c))", false},
		"parentheses in a text":         {"((a = '(b) OR (c)') OR (d))", "((a = '(b OR c)') OR (d))", false},
		"another operand":               {"(((a) OR (b)) OR (c))", "((a) OR (b) OR (d))", false},
		"an operand less":               {"(((a) OR (b)) OR (c))", "((a) OR (b))", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if one, other := flat(c.one), flat(c.other); (one == other) != c.same {
				t.Errorf("%s and %s", one, other)
			}
		})
	}
}
