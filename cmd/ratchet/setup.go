package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

func setupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "setup DIRECTORY",
		Short: "Create the secrets, passwords and certificates of a Docker Compose installation, once",
		Long: `Create the secrets, passwords and certificates of a Docker Compose installation, once.

DIRECTORY gets a folder for each service, with only the files that this service needs:
root secrets, database addresses with its own login, and TLS certificates. If
DIRECTORY has been set up before, the command changes nothing. docker-compose.yml calls it.`,
		Example: "  ratchet setup /setup",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			made, err := setUp(args[0], time.Now())
			if err != nil {
				return err
			}
			word := "was set up before; nothing changed"
			if made {
				word = "is set up"
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s %s\n", args[0], word)
			return nil
		},
	}
}

// setupDone is written last. A set-up that was interrupted before it starts over, and no
// service has read anything by then.
const setupDone = "owner/done"

// certificateLife is long, because nothing renews these certificates: they protect the
// connections between containers on one private network.
const certificateLife = 10 * 365 * 24 * time.Hour

func setUp(dir string, now time.Time) (made bool, err error) {
	_, err = os.Stat(filepath.Join(dir, setupDone))
	if err == nil {
		return false, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	files, err := installation(now)
	if err != nil {
		return false, err
	}
	for _, f := range append(files, setupFile{setupDone, now.UTC().Format(time.RFC3339) + "\n"}) {
		path := filepath.Join(dir, f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return false, err
		}
		// Each folder is a separate volume. The services run under different users, so the files can be
		// read by every user of a container that mounts the volume.
		if err := os.WriteFile(path, []byte(f.text), 0o644); err != nil {
			return false, err
		}
	}
	return true, nil
}

type setupFile struct{ name, text string }

// installation returns the files of all services.
func installation(now time.Time) ([]setupFile, error) {
	authority, err := newAuthority(now)
	if err != nil {
		return nil, err
	}
	secret, acquirerSecret, notificationSecret := randomHex(), randomHex(), randomHex()
	owner, api, worker, acquirer := randomHex(), randomHex(), randomHex(), randomHex()

	var files []setupFile
	add := func(folder, name, text string) { files = append(files, setupFile{folder + "/" + name, text}) }
	for _, folder := range []string{"owner", "api", "worker"} {
		add(folder, "secret", secret)
		add(folder, "acquirer_secret", acquirerSecret)
		add(folder, "notification_secret", notificationSecret)
		add(folder, "ca.crt", authority.pem)
	}
	add("owner", "database_url", composeURL("ratchet_owner", owner, "postgres", "ratchet"))
	add("owner", "acquirer_database_url", composeURL("acquirer", acquirer, "acquirer-postgres", "acquirer"))
	add("api", "database_url", composeURL("ratchet_api_login", api, "postgres", "ratchet"))
	add("worker", "database_url", composeURL("ratchet_worker_login", worker, "postgres", "ratchet"))

	add("postgres", "superuser_password", randomHex())
	add("postgres", "owner_password", owner)
	add("postgres", "api_password", api)
	add("postgres", "worker_password", worker)
	add("acquirer-postgres", "superuser_password", randomHex())
	add("acquirer-postgres", "owner_password", acquirer)

	add("acquirer", "database_url", composeURL("acquirer", acquirer, "acquirer-postgres", "acquirer"))
	add("acquirer", "acquirer_secret", acquirerSecret)
	add("acquirer", "notification_secret", notificationSecret)
	add("acquirer", "ca.crt", authority.pem)
	for _, server := range []string{"postgres", "acquirer-postgres", "acquirer"} {
		certificate, key, err := authority.issue(server, now)
		if err != nil {
			return nil, err
		}
		add(server, "server.crt", certificate)
		add(server, "server.key", key)
	}
	return files, nil
}

// composeURL is a database's address as a container sees it.
func composeURL(user, password, host, database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(user, password), Host: host + ":5432", Path: "/" + database,
		RawQuery: "sslmode=verify-full&sslrootcert=/setup/ca.crt"}
	return u.String()
}

func randomHex() string {
	var b [32]byte
	rand.Read(b[:]) // never fails: see crypto/rand
	return hex.EncodeToString(b[:])
}

// authority signs the certificates of one installation. Its key is not kept.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         string
}

func newAuthority(now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificateTemplate("Ratchet installation", now)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{certificate, key, block("CERTIFICATE", der)}, nil
}

// issue makes the certificate and key of a server, in PEM.
func (a *authority) issue(host string, now time.Time) (certificate, key string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := certificateTemplate(host, now)
	template.DNSNames = []string{host, "localhost"}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	if err != nil {
		return "", "", err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", err
	}
	return block("CERTIFICATE", der), block("PRIVATE KEY", encoded), nil
}

func certificateTemplate(name string, now time.Time) *x509.Certificate {
	var serial [16]byte
	rand.Read(serial[:])
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial[:]),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour), // the containers' clocks may differ
		NotAfter:     now.Add(certificateLife),
	}
}

func block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
