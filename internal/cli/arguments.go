package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// takes refuses any other number of arguments than these, and names them.
func takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usage("%s takes %s: %s is missing", cmd.CommandPath(), strings.Join(names, " "), strings.Join(names[len(args):], ", "))
		case len(args) > len(names):
			return usage("%s takes %s, and nothing behind: %q", cmd.CommandPath(), strings.Join(names, " "), args[len(names)])
		}
		return nil
	}
}

// diffTakes says besides how a source is named: a value of --source that stands behind a blank is an argument.
func diffTakes(cmd *cobra.Command, args []string) error {
	if len(args) == 3 && cmd.Flags().Changed("source") {
		return usage("%s takes OLD and NEW, not 3 arguments; to name a source write --source=NAME", cmd.CommandPath())
	}
	return takes("OLD", "NEW")(cmd, args)
}
