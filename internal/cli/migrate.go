package cli

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/ledger"
)

// migrationForm is a step of the schema as it is printed.
type migrationForm struct {
	Version int64      `json:"version"`
	Name    string     `json:"name"`
	Applied *time.Time `json:"applied"` // null = pending
}

func (c *command) migrate() *cobra.Command {
	up := c.withConfig(&cobra.Command{
		Use:   "up",
		Short: "Bring the ledger's schema up to date",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.loadConfig()
			if err != nil {
				return err
			}
			applied, err := c.services.Migrate(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			return c.printMigrations(applied, "Nothing to do: the schema is up to date.")
		},
	})
	status := c.withConfig(&cobra.Command{
		Use:   "status",
		Short: "Show which steps of the schema are applied; exit code 1 while some are pending",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.loadConfig()
			if err != nil {
				return err
			}
			steps, err := c.services.MigrateStatus(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			if err := c.printMigrations(steps, "The ledger has no steps."); err != nil {
				return err
			}
			for _, s := range steps {
				if s.Applied.IsZero() {
					return found()
				}
			}
			return nil
		},
	})
	return group("migrate", "Keep the ledger's schema at this program's version", up, status)
}

func (c *command) printMigrations(steps []ledger.Migration, none string) error {
	forms := make([]migrationForm, len(steps))
	rows := make([][]string, len(steps))
	for i, s := range steps {
		forms[i] = migrationForm{Version: s.Version, Name: s.Name}
		applied := "pending"
		if !s.Applied.IsZero() {
			at := s.Applied.UTC()
			forms[i].Applied = &at
			applied = at.Format(time.RFC3339)
		}
		rows[i] = []string{strconv.FormatInt(s.Version, 10), s.Name, applied}
	}
	return c.print(forms, func(w io.Writer) {
		if len(rows) == 0 {
			fmt.Fprintln(w, none)
			return
		}
		terminal.Columns(w, append([][]string{{"VERSION", "NAME", "APPLIED"}}, rows...))
	})
}
