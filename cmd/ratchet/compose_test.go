package main

import (
	"os"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The file cannot be run where there is no Docker, but what it asks of this
// program can be held against this program.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Image       string
			Command     []string
			Environment map[string]string
			HealthCheck struct{ Test []string }
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	understood := func(t *testing.T, args []string) {
		t.Helper()
		top, _ := root()
		cmd, rest, err := top.Find(args)
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
	parts := 0
	for name, service := range file.Services {
		if service.Image != "ratchet" {
			continue
		}
		parts++
		t.Run(name+" calls commands that exist, outside of a demo", func(t *testing.T) {
			t.Parallel()
			understood(t, service.Command)
			if service.Command[0] == "serve" && service.Environment["RATCHET_PUBLIC_URL"] == "" {
				t.Error("it listens to other machines and has no public URL, so it does not start")
			}
			if check := service.HealthCheck.Test; len(check) > 2 {
				understood(t, check[2:]) // CMD /ratchet …
			}
			if _, is := service.Environment["RATCHET_DEMO"]; is {
				t.Error("it accepts the demo's keys")
			}
		})
	}
	if parts != 5 {
		t.Errorf("%d services run this program, want migrate, two serve, work and acquirer", parts)
	}
}
