package cli

import "github.com/spf13/cobra"

func (c *command) rules() *cobra.Command {
	return group("rules", "Check and try rule files; operate the rules of a running server",
		c.rulesCheck(), c.rulesTest(), c.rulesPreview(), c.rulesDiff(), c.rulesNew(), c.rulesSchema(),
		c.rulesList(), c.rulesShow(), c.rulesEnable(), c.rulesDisable(), c.rulesClear(), c.rulesRun(), c.rulesRuns(), c.rulesFindings(),
		c.rulesWhy(), c.rulesPromote(), c.rulesPause(), c.rulesResume(), c.rulesReload(),
	)
}
