package local

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// unpack writes the binaries and licenses of an npm package below dir.
func unpack(archive io.Reader, dir string) error {
	plain, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir) // no entry can leave it
	if err != nil {
		return err
	}
	defer root.Close()

	entries := tar.NewReader(plain)
	for {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return linkLibraries(root)
		}
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(entry.Name, "package/")
		wanted := strings.HasPrefix(name, "native/") || strings.HasPrefix(name, "LICENSE")
		if entry.Typeflag != tar.TypeReg || !wanted {
			continue
		}
		err = writeFile(root, name, entries)
		if err != nil {
			return err
		}
	}
}

func writeFile(root *os.Root, name string, content io.Reader) error {
	err := root.MkdirAll(filepath.Dir(name), 0o755)
	if err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if strings.HasPrefix(name, "native/bin/") {
		mode = 0o755
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// linkLibraries makes the symbolic links of the shared libraries. npm's format
// cannot hold links; the package lists them for a script that we do not run.
func linkLibraries(root *os.Root) error {
	list, err := root.ReadFile("native/pg-symlinks.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the macOS package has none
	}
	if err != nil {
		return err
	}
	var links []struct {
		Source string `json:"source"`
		Target string `json:"target"`
	}
	err = json.Unmarshal(list, &links)
	if err != nil {
		return err
	}
	for _, link := range links {
		to, err := filepath.Rel(filepath.Dir(link.Target), link.Source)
		if err != nil {
			return err
		}
		err = root.Symlink(to, link.Target)
		if err != nil {
			return err
		}
	}
	return nil
}

// readableByAll undoes a strict umask: the server's user is not the one who unpacked.
func readableByAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o444
		if mode&0o100 != 0 {
			mode |= 0o111
		}
		return os.Chmod(path, mode)
	})
}

// makeDir is MkdirAll for directories the server's user has to enter. Root's
// umask may be strict; what exists already is left as it is.
func makeDir(path string) error {
	_, err := os.Stat(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = makeDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	err = os.Mkdir(path, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil // made by another process meanwhile
	}
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	return os.Chmod(path, 0o755)
}
