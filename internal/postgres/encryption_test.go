package postgres_test

import (
	"testing"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

func TestUnencrypted(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://u:p@db.example/ratchet":                                                "db.example", // prefer
		"postgres://u:p@db.example/ratchet?sslmode=disable":                                "db.example",
		"postgres://u:p@db.example/ratchet?sslmode=allow":                                  "db.example",
		"postgres://u:p@127.0.0.1,db.example/ratchet?sslmode=prefer":                       "db.example",
		"postgres://u:p@db.example/ratchet?sslmode=require":                                "",
		"postgres://u:p@db.example/ratchet?sslmode=verify-full":                            "",
		"postgres://u:p@127.0.0.1:5432/ratchet?sslmode=disable":                            "",
		"postgres://u:p@[::1]/ratchet":                                                     "",
		"postgres://u:p@localhost/ratchet":                                                 "",
		"host=/run/postgresql dbname=ratchet":                                              "",
		"host=/run/postgresql,db.example dbname=ratchet user=u password=p sslmode=disable": "db.example",
	} {
		if got, err := postgres.Unencrypted(url); err != nil || got != want {
			t.Errorf("%s: %q (%v), want %q", url, got, err, want)
		}
	}
	if _, err := postgres.Unencrypted("postgres://u:secret@:no-port/"); err == nil {
		t.Error("a URL that can't be read is accepted")
	}
}
