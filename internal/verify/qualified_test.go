package verify

import "testing"

func TestAViewOfOneTableIsTheSameInAllVersions(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]string{
		"SELECT c.id, (c.paid)::int AS paid FROM charges c;": "SELECT id, (paid)::int AS paid FROM charges c;",
		"SELECT id FROM charges c;":                          "SELECT id FROM charges c;",
		"SELECT (c.status = 'of c.id') FROM charges c;":      "SELECT (status = 'of c.id') FROM charges c;",
		"SELECT abc.id, c.id FROM charges c;":                "SELECT abc.id, id FROM charges c;",
		"SELECT c.id FROM (charges c JOIN refunds r ON a);":  "SELECT c.id FROM (charges c JOIN refunds r ON a);",
	} {
		if got := unqualified(before); got != want {
			t.Errorf("%s became %s, want %s", before, got, want)
		}
	}
}
