package apikey_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestKeys(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), "INSERT INTO accounts (id, name) VALUES ('acct_1', 'Toboggans')")
	if err != nil {
		t.Fatal(err)
	}
	hashKeys := secret.Root(strings.Repeat("s", 64)).Keys(secret.APIKeys)
	made := map[string]bool{}
	for range 3 {
		for _, kind := range []string{apikey.Secret, apikey.Publishable} {
			_, key, err := apikey.Create(t.Context(), db.Pool, hashKeys, "acct_1", kind, false)
			if err != nil {
				t.Fatal(err)
			}
			made[key] = true
		}
	}
	_, restricted, err := apikey.CreateRestricted(t.Context(), db.Pool, hashKeys, "acct_1",
		apikey.Permissions{"charges": "read"}, true)
	if err != nil {
		t.Fatal(err)
	}
	made[restricted] = true

	t.Run("a key has 32 random digits of 62, and no two are the same", func(t *testing.T) {
		shape := regexp.MustCompile(`^(?:(?:sk|pk)_test|rk_live)_[0-9A-Za-z]{32}$`) // 32 * log2(62) = 190 bits
		for key := range made {
			if !shape.MatchString(key) {
				t.Errorf("made %s", key)
			}
		}
		if len(made) != 7 {
			t.Errorf("made %d different keys, want 7", len(made))
		}
	})

	t.Run("the database has only what it can be shown as, and a hash that needs the secret", func(t *testing.T) {
		for table, text := range db.Text(t) {
			for key := range made {
				if strings.Contains(text, key[len("sk_test_"):]) {
					t.Errorf("%s contains a key", table)
				}
			}
		}
		find := func(root string) error {
			keys := secret.Root(strings.Repeat(root, 64)).Keys(secret.APIKeys)
			_, err := apikey.NewCache(db.Pool, keys, false).Find(t.Context(), restricted)
			return err
		}
		if err := find("s"); err != nil {
			t.Errorf("with the installation's secret: %v", err)
		}
		if err := find("t"); err == nil {
			t.Error("a process with another secret recognizes the key")
		}
	})
}
