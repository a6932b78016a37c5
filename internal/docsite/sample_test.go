package docsite

import (
	"go/format"
	"os/exec"
	"strings"
	"testing"
)

// TestSamplesAreProgramsOfTheirLanguage: what they do is tried in the browser's
// tests, where a server answers.
func TestSamplesAreProgramsOfTheirLanguage(t *testing.T) {
	ref, err := theReference()
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for _, r := range ref.Resources {
		for _, o := range r.Operations {
			s, err := sampleOf("http://127.0.0.1:8080", o, o.shown())
			if err != nil {
				t.Errorf("%s: %v", o.ID, err)
				continue
			}
			made++
			formatted, err := format.Source([]byte(s.Go))
			if err != nil || strings.TrimSpace(string(formatted)) != s.Go {
				t.Errorf("%s: not as gofmt has it (%v):\n%s", o.ID, err, s.Go)
			}
			if said, err := exec.CommandContext(t.Context(), "sh", "-n", "-c", s.Curl).CombinedOutput(); err != nil {
				t.Errorf("%s: %s\n%s", o.ID, said, s.Curl)
			}
			for _, text := range []string{s.Curl, s.Go, s.Node} {
				for name := range o.shown().Given {
					if strings.Contains(text, "{"+name+"}") {
						t.Errorf("%s: nothing stands for {%s}:\n%s", o.ID, name, text)
					}
				}
			}
		}
	}
	if made < 60 {
		t.Errorf("only %d samples", made)
	}
}
