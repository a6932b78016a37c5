// Command templates formats the templates of the pages, or says which of them are not formatted.
//
//	go run ./test/templates       # as make lint does
//	go run ./test/templates -w    # writes them
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	write := flag.Bool("w", false, "write the files")
	flag.Parse()
	dirs := flag.Args()
	if len(dirs) == 0 {
		dirs = []string{"web/templates"}
	}
	wrong := 0
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".html" {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			formatted := Format(string(source))
			if formatted == string(source) {
				return nil
			}
			if *write {
				return os.WriteFile(path, []byte(formatted), 0o644)
			}
			wrong++
			fmt.Println(path)
			return nil
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if wrong > 0 {
		fmt.Fprintf(os.Stderr, "%d templates are not formatted: run go run ./test/templates -w\n", wrong)
		os.Exit(1)
	}
}
