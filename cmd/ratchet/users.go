package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/people"
)

func usersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "users",
		Short: "Create, list and disable the dashboard's users",
		Long: `Create, list and disable the dashboard's users.

A user logs in with an email and a password. The role view sees everything. The role
operate also refunds, captures, edits, resends and resolves held requests. The role
administer also manages users and webhook endpoints. As soon as there is a user,
RATCHET_DASHBOARD_PASSWORD opens nothing. These commands need RATCHET_DATABASE_URL
with the schema owner's login, or a running demo. Each change and its audit row are
one transaction.`,
		Example: "  ratchet users create ann@example.com --role administer",
		Args:    cobra.NoArgs,
		RunE:    help,
	}
	cmd.AddCommand(usersCreateCommand(), usersListCommand(), usersRoleCommand(),
		userCommand("disable", "Disable a user and end the user's sessions", "disabled; the sessions ended",
			people.Disable),
		userCommand("enable", "Let a disabled user log in again", "enabled", people.Enable),
		userCommand("totp-reset", "Remove a user's second factor and end the user's sessions",
			"has no second factor; the sessions ended", people.ResetTOTP),
		usersPasswordCommand())
	return cmd
}

// operating is who the audit trail names for a command about users.
func operating() people.By { return people.By{Actor: operator()} }

func usersCreateCommand() *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use:     "create EMAIL",
		Short:   "Create a user and print the first password once",
		Long:    "Create a user and print the first password. The user must change it at the first login.",
		Example: "  ratchet users create ann@example.com --role operate",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !people.Role(role).Known() {
				return usagef("--role is view, operate or administer, not %q", role)
			}
			pool, _, err := operate(cmd.Context(), "")
			if err != nil {
				return err
			}
			defer pool.Close()
			user, password, err := people.Create(cmd.Context(), pool, operating(), args[0], people.Role(role))
			if err != nil {
				return err
			}
			showPassword(cmd, user.Email, password)
			return nil
		},
	}
	cmd.Flags().StringVar(&role, "role", string(people.View), "what the user may do: view, operate or administer")
	return cmd
}

// showPassword prints a first password whose making is committed.
func showPassword(cmd *cobra.Command, email, password string) {
	fmt.Fprintf(cmd.ErrOrStderr(), "first password of %s; it will not be shown again:\n", email)
	fmt.Fprintln(cmd.OutOrStdout(), password)
}

func usersListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List users",
		Example: "  ratchet users list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pool, _, err := operate(cmd.Context(), "")
			if err != nil {
				return err
			}
			defer pool.Close()
			users, err := people.List(cmd.Context(), pool)
			if err != nil {
				return err
			}
			table := newTable(cmd.OutOrStdout())
			fmt.Fprintln(table, "EMAIL\tROLE\tSECOND FACTOR\tCREATED\tDISABLED\tID")
			for _, u := range users {
				factor := "none"
				if u.TOTPSecret != nil {
					factor = "app"
				}
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", u.Email, u.Role, factor, moment(&u.CreatedAt),
					moment(u.DisabledAt), u.ID)
			}
			return table.Flush()
		},
	}
}

func usersRoleCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "role EMAIL ROLE",
		Short:   "Change what a user may do: view, operate or administer",
		Example: "  ratchet users role ann@example.com administer",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !people.Role(args[1]).Known() {
				return usagef("the role is view, operate or administer, not %q", args[1])
			}
			return withUser(cmd, args[0], func(ctx context.Context, pool *pgxpool.Pool, u *people.User) error {
				err := people.SetRole(ctx, pool, operating(), u.ID, people.Role(args[1]))
				if err == nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s has the role %s\n", u.Email, args[1])
				}
				return err
			})
		},
	}
}

func usersPasswordCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "password EMAIL",
		Short:   "Print a new first password for a user and end the user's sessions",
		Example: "  ratchet users password ann@example.com",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withUser(cmd, args[0], func(ctx context.Context, pool *pgxpool.Pool, u *people.User) error {
				password, err := people.ResetPassword(ctx, pool, operating(), u.ID)
				if err == nil {
					showPassword(cmd, u.Email, password)
				}
				return err
			})
		},
	}
}

// userCommand is a command that takes nothing but a user.
func userCommand(
	name, short, done string, do func(context.Context, people.DB, people.By, string) error,
) *cobra.Command {
	return &cobra.Command{
		Use:     name + " EMAIL",
		Short:   short,
		Example: "  ratchet users " + name + " ann@example.com",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withUser(cmd, args[0], func(ctx context.Context, pool *pgxpool.Pool, u *people.User) error {
				err := do(ctx, pool, operating(), u.ID)
				if err == nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", u.Email, done)
				}
				return err
			})
		},
	}
}

// withUser does something with the user that an email names.
func withUser(
	cmd *cobra.Command, email string, do func(context.Context, *pgxpool.Pool, *people.User) error,
) error {
	pool, _, err := operate(cmd.Context(), "")
	if err != nil {
		return err
	}
	defer pool.Close()
	user, err := people.Find(cmd.Context(), pool, email)
	if err != nil {
		return err
	}
	return do(cmd.Context(), pool, user)
}
