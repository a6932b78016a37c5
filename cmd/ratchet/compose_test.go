package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type composeFile struct {
	Services map[string]composeService
	Configs  map[string]struct{ Content string }
}

type composeService struct {
	Image       string
	Build       any
	Command     []string
	Environment map[string]string
	HealthCheck struct{ Test []string }
	Volumes     []string
}

func readCompose(t *testing.T) (file composeFile) {
	t.Helper()
	text, err := os.ReadFile("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file
}

// The file cannot be run where there is no Docker. This test holds what it asks of this program
// against the program; TestComposeLogins runs its scripts.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	file := readCompose(t)
	understood := func(t *testing.T, args []string) {
		t.Helper()
		top, _ := root()
		cmd, rest, err := top.Find(args)
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		if err := cmd.ParseFlags(rest); err != nil && !strings.Contains(err.Error(), "help requested") {
			t.Errorf("%v: %v", args, err)
		}
	}
	parts, builds := 0, 0
	for name, service := range file.Services {
		if service.Build != nil {
			builds++
		}
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
		t.Run(name+" reads its secrets from files that setup creates for it", func(t *testing.T) {
			t.Parallel()
			requireSecretFiles(t, service)
		})
	}
	if parts != 7 {
		t.Errorf("%d services run this program, want setup, migrate, two serve, work, acquirer and admin", parts)
	}
	if builds != 1 {
		t.Errorf("%d services build the image: builds of one tag at the same time collide", builds)
	}
}

// requireSecretFiles checks that no secret is in a variable and that each file exists in the service's volume.
func requireSecretFiles(t *testing.T, service composeService) {
	t.Helper()
	dir := t.TempDir()
	if _, err := setUp(dir, testNow); err != nil {
		t.Fatal(err)
	}
	for name, value := range service.Environment {
		for _, secret := range []string{databaseVariable, acquirerDatabaseVariable, secretVariable,
			acquirerSecretVariable, notificationSecretVariable} {
			if name == secret {
				t.Errorf("%s is in a variable, which docker inspect prints", name)
			}
		}
		file, is := strings.CutPrefix(value, "/setup/")
		if !is {
			continue
		}
		folder, _, _ := strings.Cut(service.Volumes[0], ":")
		text, err := os.ReadFile(dir + "/" + folder + "/" + file)
		if err != nil || len(text) == 0 {
			t.Errorf("%s names a file that setup does not create for it: %v", name, err)
		}
	}
}

func TestComposeNamesItsOperatorCommand(t *testing.T) {
	t.Parallel()
	services := readCompose(t).Services
	for name, service := range services {
		if service.Image != "ratchet" || service.Command[0] != "serve" {
			continue
		}
		given := service.Environment[operatorVariable]
		admin, is := strings.CutPrefix(given, "docker compose run --rm ")
		if _, exists := services[admin]; !is || !exists {
			t.Errorf("%s names %q, which runs no service of the file", name, given)
		}
	}
}

// The image postgres:18 does not start with a volume at the place where postgres:17 has its data.
func TestComposePostgresVolumes(t *testing.T) {
	t.Parallel()
	servers := 0
	for name, service := range readCompose(t).Services {
		tag, is := strings.CutPrefix(service.Image, "postgres:")
		if !is {
			continue
		}
		servers++
		major, err := strconv.Atoi(tag)
		if err != nil {
			t.Errorf("%s has the tag %q, want a major version", name, tag)
		}
		want := "/var/lib/postgresql/data"
		if major >= 18 {
			want = "/var/lib/postgresql"
		}
		if !slices.Contains(service.Volumes, name+":"+want) {
			t.Errorf("%s runs PostgreSQL %d and has the volumes %q, want one at %s", name, major, service.Volumes, want)
		}
	}
	if servers != 2 {
		t.Errorf("%d services are PostgreSQL, want 2", servers)
	}
}
