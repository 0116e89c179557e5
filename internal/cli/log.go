package cli

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/logging"
	"tallyman/internal/wire"
)

// logCommands are the commands about a node's log.
type logCommands struct{ *command }

func (c logCommands) log() *cobra.Command {
	return group("log", "The log of a node", c.level())
}

func (c logCommands) level() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:   "level [LEVEL]",
		Short: "Show or change the level of the log of the node that answers",
		Long: `Show or change the level of the log: debug, info, warn or error.

A change counts at once, on the node that answers alone, until that node is started again. Then telemetry.log.level of the configuration counts. The change is
recorded in the audit.`,
		Example: `  tallyman log level
  tallyman log level debug --server http://wms-2:8080`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(logging.Levels(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return show(cmd.Context(), c.command, http.MethodGet, "/log", nil, writeLog)
			}
			if _, ok := logging.ParseLevel(args[0]); !ok {
				return usage("LEVEL is one of %s, not %q", strings.Join(logging.Levels(), ", "), args[0])
			}
			return show(cmd.Context(), c.command, http.MethodPost, "/log/level", &wire.LogLevelAskForm{Level: args[0]}, writeLog)
		},
	})
}

// writeLog writes the level of a log.
func writeLog(w io.Writer, form *wire.LogForm) {
	fmt.Fprintf(w, "Node %s logs at level %s.\n", form.Node, form.Level)
	if form.Level != form.Configured {
		fmt.Fprintf(w, "After a restart the level of the configuration counts: %s.\n", form.Configured)
	}
}
