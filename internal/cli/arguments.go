package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tallyman/internal/auth"
	"tallyman/internal/cli/terminal"
	"tallyman/internal/text"
	"tallyman/rules/strictyaml"
)

// takes returns a check that the command gets exactly these arguments. The error names the arguments.
func takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usage("%s takes %s: %s is missing", cmd.CommandPath(), strings.Join(names, " "), strings.Join(names[len(args):], ", "))
		case len(args) > len(names):
			return usage("%s takes %s and nothing else: %q", cmd.CommandPath(), strings.Join(names, " "), args[len(names)])
		}
		return nil
	}
}

// diffTakes checks the arguments of rules diff. A value of --source after a space counts as an argument, so the error
// explains how to name a source.
func diffTakes(cmd *cobra.Command, args []string) error {
	if len(args) == 3 && cmd.Flags().Changed("source") {
		return usage("%s takes OLD and NEW, not 3 arguments; to name a source write --source=NAME", cmd.CommandPath())
	}
	return takes("OLD", "NEW")(cmd, args)
}

// hasLines allows several lines in the texts of these flags.
func hasLines(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, text.Tag, []string{"lines"}); err != nil {
			panic(err) // a mistake in the program: the flag does not exist
		}
	}
}

// checkTexts checks arguments and flags against the policy of texts (internal/text).
func checkTexts(cmd *cobra.Command, args []string) error {
	for i, arg := range args {
		if fault := text.Check(arg, text.Line); fault != nil {
			return usage("argument %d of %s: %w", i+1, cmd.CommandPath(), asError(fault))
		}
	}
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		shape := text.ShapeOf(strings.Join(f.Annotations[text.Tag], ""))
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if fault := text.Check(value, shape); fault != nil && err == nil {
				err = usage("--%s: %w", f.Name, asError(fault))
			}
		}
	})
	return err
}

// asError returns the fault as an error with its code.
func asError(fault error) error { return fmt.Errorf("%s: %w", text.Code, fault) }

// checkJSON checks JSON against the policy of texts. T is the type into which the JSON is decoded; use any for JSON of
// an unknown form.
func checkJSON[T any](data []byte) error {
	if fault := text.CheckJSON(data, reflect.TypeFor[T]()); fault != nil {
		return asError(fault)
	}
	return nil
}

// takesItems checks that the arguments are a queue and at least one item.
func takesItems(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return takes("QUEUE", "ITEM")(cmd, args)
	}
	return nil
}

// spanFlag is the value of a duration flag, as a text that the API accepts.
type spanFlag string

// anyFlag tells whether one of the flags was given.
func anyFlag(cmd *cobra.Command, names ...string) bool {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return true
		}
	}
	return false
}

// open opens a file for reading; - is standard input.
func (c *command) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(c.In), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, &exitError{ExitUsage, err}
	}
	return f, nil
}

// Set stores the text, or returns an error if the text is no duration.
func (s *spanFlag) Set(text string) error {
	_, err := strictyaml.ParseDuration(text)
	if err == nil {
		*s = spanFlag(text)
	}
	return err
}

// String returns the text.
func (s *spanFlag) String() string { return string(*s) }

// Type returns the name of the kind for the help.
func (s *spanFlag) Type() string { return "duration" }

// completionTimeout is the longest time that a shell waits for names from the server.
const completionTimeout = 1500 * time.Millisecond

// lists has the lists of the API that complete arguments, keyed by argument: the path of the list, the member with the
// list, and in each entry the members with the name and with a description.
var lists = map[string]struct{ path, list, name, about string }{
	"RULE":       {"/rules?limit=1000", "rules", "id", "title"},
	"QUEUE":      {"/queues", "queues", "name", ""},
	"SINK":       {"/sinks", "sinks", "name", "type"},
	"TYPE":       {"/types", "types", "code", "name"},
	"ORIGIN":     {"/subscriptions/origins", "origins", "name", ""},
	"SUBSCRIBER": {"/subscribers?limit=1000", "subscribers", "id", "name"},
	"TOKEN":      {"/tokens", "tokens", "id", "name"},
	"SILENCE":    {"/silences", "silences", "id", "comment"},
}

// flagLists has the flags whose value is a name from lists, each with its key in lists.
var flagLists = map[string]string{"rule": "RULE", "sink": "SINK", "type": "TYPE", "subscriber": "SUBSCRIBER", "deliver": "SINK"}

// fixedFlags has the flags with a fixed set of values.
var fixedFlags = map[string][]string{
	"output": {"table", "json", "yaml"}, "driver": {"postgres", "mysql", "sqlserver", "oracle", "sqlite"}, "log-level": {"debug", "info", "warn", "error"}, "log-format": {"text", "json"},
	"access": roleNames(),
}

func roleNames() []string {
	var names []string
	for _, role := range auth.Roles() {
		names = append(names, string(role))
	}
	return names
}

// fileArguments lists the arguments that are paths of files.
var fileArguments = []string{"FILE", "PATH", "OLD", "NEW"}

// complete sets up the completion in shells for a command and its subcommands. Arguments that are paths complete to
// files. For commands that call a server, other arguments complete to names from the server.
func (c *command) complete(root *cobra.Command) {
	c.completeFlags(root)
	for _, cmd := range root.Commands() {
		c.complete(cmd)
	}
	if root.HasSubCommands() || root.ValidArgsFunction != nil {
		return
	}
	arguments := argumentsOf(root.Use)
	remote := root.Flags().Lookup("server") != nil
	root.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(arguments) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		argument := arguments[min(len(args), len(arguments)-1)]
		switch {
		case len(args) >= len(arguments) && !strings.HasSuffix(root.Use, "…") && !strings.HasSuffix(root.Use, "…]"):
			return nil, cobra.ShellCompDirectiveNoFileComp
		case slices.Contains(fileArguments, argument):
			return nil, cobra.ShellCompDirectiveDefault
		case remote:
			return c.namesOf(cmd, argument, typed), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// argumentsOf returns the arguments in a usage line: QUEUE and ITEM for "show QUEUE [ITEM]".
func argumentsOf(use string) []string {
	var list []string
	for _, word := range strings.Fields(use)[1:] {
		word = strings.Trim(word, "[]….")
		if word == "|" || strings.HasPrefix(word, "-") {
			break // Flags follow, or another form of the command.
		}
		list = append(list, word)
	}
	return list
}

// completeFlags sets up the completion for the values of a command's flags.
func (c *command) completeFlags(cmd *cobra.Command) {
	for name, words := range fixedFlags {
		if cmd.Flags().Lookup(name) != nil || cmd.PersistentFlags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
		}
	}
	if cmd.Flags().Lookup("server") == nil {
		return
	}
	for name, list := range flagLists {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
				return c.namesOf(cmd, list, typed), cobra.ShellCompDirectiveNoFileComp
			}) // the flag is there
		}
	}
}

// namesOf asks the server for the names that begin with the typed text. namesOf returns no names after an error,
// because a shell shows no errors while somebody types.
func (c *command) namesOf(cmd *cobra.Command, argument, typed string) []string {
	of, ok := lists[argument]
	ctx := cmd.Context()
	if !ok || ctx == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	var answer map[string]any
	if err := c.client().do(ctx, http.MethodGet, of.path, nil, &answer); err != nil {
		return nil
	}
	var names []string
	list, _ := answer[of.list].([]any)
	for _, one := range list {
		members, _ := one.(map[string]any)
		name, _ := members[of.name].(string)
		about, _ := members[of.about].(string)
		if name == "" || !strings.HasPrefix(name, typed) {
			continue
		}
		if about != "" {
			name += "\t" + terminal.OneLine(about) // A shell completes the text before the tab, and shows the text after the tab as a description.
		}
		names = append(names, name)
	}
	return names
}
