package cli

import (
	"github.com/spf13/cobra"

	"tallyman/rules"
)

func (c *command) rulesSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of rule files, for editors",
		Long: `Print the JSON Schema of rule files (draft-07), for editors that complete and check YAML. A rule file names it in its first line:

  # yaml-language-server: $schema=../rule.schema.json

The schema knows fields, kinds and spellings; "tallyman rules check" knows the rest.`,
		Example: `  tallyman rules schema > rule.schema.json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := rules.Schema()
			if err != nil {
				return err
			}
			_, err = c.Out.Write(text)
			return err
		},
	}
}
