package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
)

const rootHelp = `Keeps count for a warehouse: rules over its database become typed notices.

Begin with "tallyman demo", which needs nothing else. Commands that talk to a running server take its address from --server or TALLYMAN_SERVER
(else ` + defaultServer + `), a token from the file of --token-file or from TALLYMAN_TOKEN, and an authority of the site's own from the
file of --ca-file or TALLYMAN_CA_FILE. Tables are as wide as the terminal, or as COLUMNS says; programs read -o json.

Exit codes:
  0  fine
  1  it found problems, or the server has refused
  2  wrong usage
  3  something could not be reached, or is busy`

// fitHelp makes what --help shows as wide as the terminal.
func (c *command) fitHelp(root *cobra.Command) {
	width := c.width()
	usage := strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", width))
	// A group only holds commands: it is not called by itself.
	root.SetUsageTemplate(strings.Replace(usage, "{{if .Runnable}}", "{{if and .Runnable (not .HasSubCommands)}}", 1))
	fitLong(root, width)
}

func fitLong(cmd *cobra.Command, width int) {
	var b strings.Builder
	for i, paragraph := range strings.Split(cmd.Long, "\n\n") {
		if i > 0 {
			b.WriteString("\n")
		}
		reflow(&b, width, paragraph)
	}
	if cmd.Long != "" {
		cmd.Long = strings.TrimSuffix(b.String(), "\n")
	}
	for _, sub := range cmd.Commands() {
		fitLong(sub, width)
	}
}

// reflow joins the lines of a paragraph and breaks them anew; those that are indented stay as they are.
func reflow(w io.Writer, width int, paragraph string) {
	var prose []string
	flush := func() {
		if len(prose) > 0 {
			terminal.Wrap(w, width, "", strings.Join(prose, " "))
		}
		prose = nil
	}
	for line := range strings.SplitSeq(paragraph, "\n") {
		if !strings.HasPrefix(line, " ") {
			prose = append(prose, line)
			continue
		}
		flush()
		fmt.Fprintln(w, line)
	}
	flush()
}
