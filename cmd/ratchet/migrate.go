package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

func migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Move the database's schema",
		Long: `Move the database's schema. RATCHET_DATABASE_URL has to log in as the schema's owner,
who may create roles.`,
		Example: "  RATCHET_DATABASE_URL=postgres://owner:…@host/ratchet ratchet migrate up",
		Args:    cobra.NoArgs,
		RunE:    help,
	}
	cmd.AddCommand(migrateUpCommand(), migrateDownCommand(), migrateStatusCommand())
	return cmd
}

func migrateUpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "up",
		Short:   "Bring the schema up to date; what is there already stays",
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

func migrateDownCommand() *cobra.Command {
	var steps int
	var yes bool
	cmd := &cobra.Command{
		Use:     "down",
		Short:   "Take back the last chapters of the schema, with the data they hold",
		Example: "  RATCHET_DATABASE_URL=postgres://owner:…@host/ratchet ratchet migrate down --steps 1 --yes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			url, err := given().databaseURL()
			if err != nil {
				return err
			}
			if !yes {
				return usagef("this deletes what the last %d chapters hold; say --yes if that is what you want", steps)
			}
			err = postgres.MigrateDown(cmd.Context(), url, steps)
			if err != nil {
				return err
			}
			return printStatus(cmd, url)
		},
	}
	cmd.Flags().IntVar(&steps, "steps", 1, "how many chapters")
	cmd.Flags().BoolVar(&yes, "yes", false, "the data in them may be deleted")
	return cmd
}

func migrateStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "Print where the schema stands",
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
		note = "another tool died in the middle of it: repair it by hand"
	case status.Version < status.Latest:
		note = "run: ratchet migrate up"
	case status.Version > status.Latest:
		note = "newer than this binary"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "schema at chapter %d of %d: %s\n", status.Version, status.Latest, note)
	return nil
}
