package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/app"
)

// backupForm is the answer of backup.
type backupForm struct {
	File    string  `json:"file"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

func (c nodeCommands) backup() *cobra.Command {
	return c.withConfig(&cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the SQLite ledger into a new file, also while a node runs",
		Long: `Copy the SQLite ledger of the configuration into a new file. A node may have the ledger open and may write meanwhile. The copy has the
state of one moment, and everything that was committed before the command began.

FILE must not exist, and gets the mode 0600. The name appears once the copy is complete, checked and on the disk. A command that is killed leaves
a file with the suffix .partial, which you can remove.

A ledger in PostgreSQL is backed up with pg_dump or pg_basebackup: docs/how-to/back-up-and-restore.md.`,
		Example: `  tallyman backup /var/backups/tallyman/tallyman.db --config site.yaml`,
		Args:    takes("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := c.loadConfig()
			if err != nil {
				return err
			}
			b, err := c.services.BackUp(cmd.Context(), cfg, args[0])
			if _, ok := errors.AsType[*app.ServerError](err); ok {
				return usage("%w", err)
			}
			if err != nil {
				return err
			}
			form := backupForm{File: b.File, Bytes: b.Bytes, Seconds: b.Took.Seconds()}
			return c.print(form, func(w io.Writer) {
				fmt.Fprintf(w, "Ledger copied to %s: %d bytes in %s. The copy has no faults.\n", b.File, b.Bytes, b.Took.Round(time.Millisecond))
			})
		},
	})
}
