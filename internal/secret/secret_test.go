package secret_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/secret"
)

func TestKeysOfOneSecret(t *testing.T) {
	t.Parallel()
	root, err := secret.New(strings.Repeat("0123456789abcdef", 4))
	if err != nil {
		t.Fatal(err)
	}
	other, err := secret.New(strings.Repeat("0123456789abcdef", 3) + "0123456789abcdee")
	if err != nil {
		t.Fatal(err)
	}
	purposes := append(slices.Clone(secret.Kept), secret.TOTP, secret.ShopCarts, secret.ShopEndpoint)

	t.Run("every purpose has its own key, and another secret has others", func(t *testing.T) {
		t.Parallel()
		made := map[string]string{
			string(root):          "the secret itself",
			string(root.Digest()): "the digest that a table keeps",
		}
		for _, of := range []secret.Root{root, other} {
			for _, purpose := range purposes {
				key := of.For(purpose)
				if len(key) != 32 {
					t.Errorf("the key for %q has %d bytes", purpose, len(key))
				}
				if earlier := made[string(key)]; earlier != "" {
					t.Errorf("the key for %q is also %s", purpose, earlier)
				}
				made[string(key)] = "that for " + purpose
			}
		}
	})

	t.Run("a text opens in its place, under its key, and unchanged", func(t *testing.T) {
		t.Parallel()
		key := root.For(secret.Answers)
		sealed, err := secret.Seal(key, "req_1", "whsec_x")
		if err != nil {
			t.Fatal(err)
		}
		again, err := secret.Seal(key, "req_1", "whsec_x")
		if err != nil {
			t.Fatal(err)
		}
		if again == sealed || strings.Contains(sealed, "whsec_x") {
			t.Error("the seal shows the text, or that two texts are the same")
		}
		if text, err := secret.Open(key, "req_1", sealed); err != nil || text != "whsec_x" {
			t.Errorf("opened %q, %v", text, err)
		}
		changed := []byte(sealed)
		changed[len(changed)/2] ^= 1
		for _, c := range []struct {
			how           string
			key           []byte
			place, sealed string
		}{
			{"in another place", key, "req_2", sealed},
			{"for another purpose", root.For(secret.Webhooks), "req_1", sealed},
			{"by another secret", other.For(secret.Answers), "req_1", sealed},
			{"after a change", key, "req_1", string(changed)},
			{"cut off", key, "req_1", sealed[:10]},
		} {
			if text, err := secret.Open(c.key, c.place, c.sealed); err == nil {
				t.Errorf("it opens %s: %q", c.how, text)
			}
		}
	})

	t.Run("a short secret is refused", func(t *testing.T) {
		t.Parallel()
		if _, err := secret.New(strings.Repeat("x", 31)); err == nil {
			t.Error("31 characters are accepted")
		}
	})
}
