package cli

import "github.com/spf13/cobra"

func (c *command) rules() *cobra.Command {
	return group("rules", "Check rules files",
		c.rulesCheck(), c.rulesTest(), c.rulesPreview(), c.rulesDiff(), c.rulesSchema(),
	)
}
