package cli

import "github.com/spf13/cobra"

func (c nodeCommands) ledger() *cobra.Command {
	return group("ledger", "Look at the ledger itself", c.ledgerVerify())
}

func (c nodeCommands) ledgerVerify() *cobra.Command {
	return c.withConfig(&cobra.Command{
		Use:   "verify",
		Short: "Check a ledger, above all a restored one: schema, faults, lineage, open work, and what is sent again",
		Long: `Check the ledger of the configuration. The command changes nothing. No node needs to run, and nodes may run. On SQLite the command reads
the whole file; on PostgreSQL it reads all indexes where the extension amcheck is there.

After a restore, run the command before you start the nodes. It says whether Redis knows more than the ledger, what the nodes will do about
that, and which deliveries go out.

Each line is ok, a warning, wrong, or skipped because the part was not checked, and has a code. Later versions keep the codes. Below a warning and a wrong line stands the way out. The exit code is 1 if
a line is wrong, and 0 if there are only warnings.`,
		Example: `  tallyman ledger verify --config site.yaml
  tallyman ledger verify --config site.yaml --set ledger.url=sqlite:/var/backups/tallyman/tallyman.db -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.loadConfig()
			if err != nil {
				return err
			}
			return c.printDoctor(&doctorForm{Findings: c.services.VerifyLedger(cmd.Context(), cfg)})
		},
	})
}
