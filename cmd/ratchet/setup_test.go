package main

import (
	"crypto/tls"
	"crypto/x509"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var testNow = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func TestSetup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made, err := setUp(dir, testNow)
	if err != nil || !made {
		t.Fatalf("%t, %v", made, err)
	}
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	t.Run("a second call changes nothing", func(t *testing.T) {
		before := read("api/secret")
		made, err := setUp(dir, testNow.Add(time.Hour))
		if err != nil || made || read("api/secret") != before {
			t.Errorf("made %t (%v), or the secret has changed", made, err)
		}
	})
	t.Run("one that was interrupted starts over", func(t *testing.T) {
		other := t.TempDir()
		if _, err := setUp(other, testNow); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(other, setupDone)); err != nil {
			t.Fatal(err)
		}
		if made, err := setUp(other, testNow); err != nil || !made {
			t.Errorf("made %t (%v)", made, err)
		}
	})
	t.Run("each service gets the same secrets and logins of its own", func(t *testing.T) {
		if read("api/secret") != read("worker/secret") ||
			read("api/acquirer_secret") != read("acquirer/acquirer_secret") {
			t.Error("two services have different secrets")
		}
		if !strings.Contains(read("api/database_url"), "ratchet_api_login:"+read("postgres/api_password")+"@") {
			t.Error("the API's address has another password than its login")
		}
		owner := read("postgres/owner_password")
		for _, folder := range []string{"api", "worker", "acquirer"} {
			err := filepath.WalkDir(filepath.Join(dir, folder), func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				if strings.Contains(string(text), owner) {
					t.Errorf("%s contains the owner's password", path)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("clients accept the servers' certificates", func(t *testing.T) {
		for _, server := range []string{"postgres", "acquirer-postgres", "acquirer"} {
			pair, err := tls.X509KeyPair([]byte(read(server+"/server.crt")), []byte(read(server+"/server.key")))
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM([]byte(read("api/ca.crt")))
			_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: server, CurrentTime: testNow})
			if err != nil {
				t.Errorf("%s: %v", server, err)
			}
		}
	})
}
