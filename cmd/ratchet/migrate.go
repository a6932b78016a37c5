package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

func migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Migrate the database schema",
		Long: `Migrate the database schema. RATCHET_DATABASE_URL must have the login of the schema's
owner, who may create roles.`,
		Example: "  RATCHET_DATABASE_URL=postgres://owner:…@host/ratchet ratchet migrate up",
		Args:    cobra.NoArgs,
		RunE:    help,
	}
	cmd.AddCommand(migrateUpCommand(), migrateStatusCommand())
	return cmd
}

func migrateUpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "up",
		Short:   "Apply all pending migrations; existing data stays",
		Example: "  RATCHET_DATABASE_URL=postgres://owner:…@host/ratchet ratchet migrate up",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			url, err := given().databaseURL()
			if err != nil {
				return err
			}
			err = postgres.Migrate(cmd.Context(), url)
			if err != nil {
				return err
			}
			return printStatus(cmd, url)
		},
	}
}

func migrateStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "Print the schema version",
		Example: "  RATCHET_DATABASE_URL=postgres://… ratchet migrate status",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := operators()
			if err != nil {
				return err
			}
			url, err := s.databaseURL()
			if err != nil {
				return err
			}
			return printStatus(cmd, url)
		},
	}
}

func printStatus(cmd *cobra.Command, url string) error {
	status, err := postgres.MigrationStatus(cmd.Context(), url)
	if err != nil {
		return err
	}
	note := "up to date"
	switch {
	case status.Dirty:
		note = "another tool crashed during this migration: repair it by hand"
	case status.Version < status.Latest:
		note = "run: ratchet migrate up"
	case status.Version > status.Latest:
		note = "newer than this binary"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "schema version %d of %d: %s\n", status.Version, status.Latest, note)
	return nil
}
