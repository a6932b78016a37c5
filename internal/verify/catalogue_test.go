package verify

import (
	"os"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

func TestTheListOfGuardsIsTheSchemas(t *testing.T) {
	t.Parallel()
	tx := begin(t, pgtest.New(t).Pool)
	found, err := readGuards(t.Context(), tx)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, g := range found {
		text.WriteString(g.String() + "\n")
	}
	if os.Getenv("UPDATE_GUARDS") != "" {
		if err := os.WriteFile("guards.txt", []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if wrong := compareGuards(expectedGuards(), found); len(wrong) > 0 {
		t.Errorf("UPDATE_GUARDS=1 go test ./internal/verify writes the list anew; read what changed: %v", wrong)
	}
	if text.String() != guards {
		t.Error("guards.txt is not what a new database has; UPDATE_GUARDS=1 go test ./internal/verify writes it anew")
	}
}
