package main

import (
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/migrations"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this binary",
		Example: "  ratchet version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			chapter, err := latestChapter()
			if err != nil {
				return err
			}
			version, commit := built()
			fmt.Fprintf(cmd.OutOrStdout(), "ratchet %s\ncommit  %s\nschema  %s\ngo      %s %s/%s\n",
				version, commit, chapter, strings.TrimPrefix(runtime.Version(), "go"), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}

// built is the module's version and the commit it was built from, as far as the
// toolchain wrote them down.
func built() (version, commit string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown", "unknown"
	}
	commit = "unknown"
	modified := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if modified {
		commit += " (and changes that are not committed)"
	}
	return info.Main.Version, commit
}

// latestChapter is the name of the last migration in this binary.
func latestChapter() (string, error) {
	chapters, err := fs.Glob(migrations.FS, "*.up.sql")
	if err != nil || len(chapters) == 0 {
		return "", fmt.Errorf("this binary contains no migrations: %w", err)
	}
	return strings.TrimSuffix(chapters[len(chapters)-1], ".up.sql"), nil // Glob sorts by name
}
