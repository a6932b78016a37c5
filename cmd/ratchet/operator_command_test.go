package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestOperatorCommand(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct{ database, want string }{
		"an address of a server": {
			database: "postgres://ratchet_api:hunter2hunter2@db.example:5433/ratchet?sslmode=verify-full",
			want:     "RATCHET_DATABASE_URL='postgres://OWNER@db.example:5433/ratchet?sslmode=verify-full'",
		},
		"an address with a password among its parameters": {
			database: "postgres:///ratchet?host=/run/postgresql&user=api&password=hunter2hunter2&sslpassword=hunter2",
			want:     "RATCHET_DATABASE_URL='postgres://OWNER@/ratchet?host=%2Frun%2Fpostgresql'",
		},
		"settings that are no URL": {
			database: "host=db.example password=hunter2hunter2",
			want:     "RATCHET_DATABASE_URL=postgres://OWNER@HOST:5432/DATABASE",
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Setenv(operatorVariable, "")
			t.Setenv(secretVariable+"_FILE", "/etc/ratchet/the secret")
			got := operatorCommand(c.database)
			if want := c.want + " RATCHET_SECRET_FILE='/etc/ratchet/the secret' " + shellWord(program); got != want {
				t.Errorf("it is\n%s\nwant\n%s", got, want)
			}
			if strings.Contains(got, "hunter2") {
				t.Error("it has the password")
			}
		})
	}

	t.Run("where the server cannot know it, the setting says it", func(t *testing.T) {
		t.Setenv(operatorVariable, "docker compose run --rm admin")
		if got := operatorCommand("postgres://db/ratchet"); got != "docker compose run --rm admin" {
			t.Errorf("it is %s", got)
		}
	})
}

// The page's commands are text in a template, so nothing but this test would notice that a flag has another name.
func TestCommandsOfTheKeysPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../web/templates/dashboard/keys.html")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`printf "%s (keys [^)]+)" \.Data\.Command`).FindAllStringSubmatch(string(page), -1)
	if len(found) != 3 {
		t.Fatalf("there are %d commands, want 3", len(found))
	}
	for _, command := range found {
		top, _ := root()
		cmd, rest, err := top.Find(strings.Fields(command[1]))
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", command[1], err)
		}
	}
}
