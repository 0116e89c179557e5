package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/app"
	"tallyman/internal/cli/terminal"
	"tallyman/internal/config"
	"tallyman/rules/problem"
)

func (c *command) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "tallyman",
		Short:         "Watch the database of a warehouse, and notify people and programs of what is wrong",
		Long:          rootHelp(),
		Args:          knownCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if err := checkTexts(cmd, args); err != nil {
				return err
			}
			switch c.output {
			case "table", "json", "yaml":
				c.started = true
				return nil
			}
			return usage("-o takes table, json or yaml, not %q", c.output)
		},
		RunE: needsCommand,
	}
	root.PersistentFlags().StringVarP(&c.output, "output", "o", "table", "how to print: table, json or yaml")
	node := nodeCommands{c}
	root.AddCommand(initCommands{c}.init(), node.demo(), node.serve(), node.health(), node.migrate(), node.backup(), node.ledger(), node.configuration(), node.doctor(), node.source(), ruleCommands{c}.rules(), findCommands{c}.find(), noticeCommands{c}.notices(), typeCommands{c}.types(),
		queueCommands{c}.queue(), deliveryCommands{c}.deliveries(), silenceCommands{c}.silences(), sinkCommands{c}.sinks(),
		scopeCommands{c}.scopes(), subscriptionCommands{c}.subscriptions(), subscriberCommands{c}.subscribers(), tokenCommands{c}.tokens(), auditCommands{c}.audit(), clockCommands{c}.clock(), logCommands{c}.log(), drainCommands{c}.drain(),
		statusCommands{c}.status(), node.version())
	c.complete(root)
	c.fitHelp(root)
	return root
}

// group makes a command that only has subcommands.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Args: knownCommand, RunE: needsCommand}
	g.AddCommand(commands...)
	return g
}

// knownCommand refuses an unknown subcommand. Without this check cobra would take the name for an argument.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := problem.DidYouMean(args[0], names(cmd))
	if hint != "" {
		hint = "; " + hint
	}
	return usage("%s has no command %q%s", cmd.CommandPath(), args[0], hint)
}

func needsCommand(cmd *cobra.Command, _ []string) error {
	return usage("%s needs a command: %s", cmd.CommandPath(), strings.Join(names(cmd), ", "))
}

func names(cmd *cobra.Command) []string {
	var list []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			list = append(list, sub.Name())
		}
	}
	return list
}

// withConfig adds the flags of commands that read the configuration.
func (c *command) withConfig(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&c.config, "config", "", "the configuration file (default $"+configFile+", else "+config.DefaultFile+")")
	cmd.Flags().StringArrayVar(&c.set, "set", nil, "KEY=VALUE sets one key, such as redis.url=embedded; may be repeated")
	return cmd
}

// configFile is the variable that names the configuration where --config does not.
const configFile = "TALLYMAN_CONFIG"

// namedConfig is the configuration file that --config or the environment names; "" is the default file.
func (c *command) namedConfig() string { return cmp.Or(c.config, c.getenv(configFile)) }

// loadConfig reads the configuration. A missing file is wrong usage.
func (c *command) loadConfig() (*config.Config, error) { return c.readConfig(false) }

// lazyConfig is loadConfig, but a missing secret is no error. A caller that needs a secret calls Need.
func (c *command) lazyConfig() (*config.Config, error) { return c.readConfig(true) }

func (c *command) readConfig(lazy bool) (*config.Config, error) {
	set := make(map[string]string, len(c.set))
	for _, s := range c.set {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return nil, usage("--set takes KEY=VALUE, not %q", s)
		}
		set[key] = value
	}
	options := config.Options{File: c.namedConfig(), Env: c.Env, Set: set, Lazy: lazy, Flags: map[string]string{}}
	for _, own := range []struct{ key, flag, value string }{
		{"http.listen", "--listen", c.listen}, {"telemetry.log.level", "--log-level", c.logLevel}, {"telemetry.log.format", "--log-format", c.logFormat},
	} {
		if own.value != "" {
			set[own.key], options.Flags[own.key] = own.value, own.flag
		}
	}
	cfg, err := app.LoadConfig(options)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, &exitError{ExitUsage, fmt.Errorf("%w; name one with --config or %s", err, configFile)}
	}
	return cfg, err
}

// asProblems returns the problems in the error. asProblems returns false if the error is something else.
func asProblems(err error) (problem.List, bool) {
	var list problem.List
	ok := errors.As(err, &list)
	return list, ok
}

const rootText = `Watch the database of a warehouse management system (WMS), and notify people and programs of what is wrong.

Begin with "tallyman demo", which needs nothing else. Commands that talk to a running server take its address from --server or TALLYMAN_SERVER
(default ` + defaultServer + `), a token from the file of --token-file or from TALLYMAN_TOKEN, and a certificate authority of your own from the
file of --ca-file or TALLYMAN_CA_FILE. Tables are as wide as the terminal, or as COLUMNS says. Programs should read -o json.

Exit codes:
`

// rootHelp returns the text of tallyman --help.
func rootHelp() string {
	var codes strings.Builder
	for code, meaning := range exitCodes {
		fmt.Fprintf(&codes, "  %d  %s\n", code, meaning)
	}
	return rootText + strings.TrimSuffix(codes.String(), "\n")
}

// fitHelp wraps the text of --help at the width of the terminal.
func (c *command) fitHelp(root *cobra.Command) {
	width := c.width()
	usage := strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", width))
	// A group of commands does nothing by itself, so its usage does not show a call without a subcommand.
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

// reflow wraps a paragraph at the width. Indented lines stay unchanged.
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
