package dashboard_test

import (
	"html"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/process"
)

func TestTheKeysPageHasTheCommandsOfTheInstallation(t *testing.T) {
	t.Parallel()
	operator := func(command string) func(*process.Config) {
		return func(c *process.Config) { c.Dashboard.Operator = command }
	}
	for command, c := range map[string]struct {
		want  string
		owner bool
	}{
		"":                              {want: ">ratchet keys create --account"},
		"docker compose run --rm admin": {want: ">docker compose run --rm admin keys create --account"},
		"RATCHET_DATABASE_URL=postgres://OWNER@db/ratchet /usr/bin/ratchet": {
			want:  ">RATCHET_DATABASE_URL=postgres://OWNER@db/ratchet /usr/bin/ratchet keys create --account",
			owner: true,
		},
	} {
		body := html.UnescapeString(newEnv(t, "", operator(command)).get(t, "/dashboard/keys").body)
		if !strings.Contains(body, c.want) {
			t.Errorf("the page for %q has no %q", command, c.want)
		}
		if strings.Contains(body, "Replace OWNER") != c.owner {
			t.Errorf("the page for %q explains the login: %t, want %t", command, !c.owner, c.owner)
		}
	}
}
