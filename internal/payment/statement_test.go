package payment

import "testing"

func TestAStatementShowsWholeCharacters(t *testing.T) {
	t.Parallel()
	own, suffix := "Søren Ågård", "Ærlig smørrebrød"
	const want = "SØREN ÅGÅRD* ÆRLIG SMØ" // 22 characters, 27 bytes
	if got := statement("Toboggans", &own, &suffix); got != want {
		t.Errorf("the statement shows %q, want %q", got, want)
	}
	if got := statement("Toboggans", nil, nil); got != "TOBOGGANS" {
		t.Errorf("the statement shows %q", got)
	}
}
