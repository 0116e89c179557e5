package cli

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/auth"
	"tallyman/internal/cli/terminal"
)

// completionTimeout is how long a shell may have to wait for the names that a server knows.
const completionTimeout = 1500 * time.Millisecond

// lists are what the API has names of: the path, the member that has the list, and the member of each that is its name and what it is.
var lists = map[string]struct{ path, list, name, about string }{
	"RULE":       {"/rules?limit=1000", "rules", "id", "title"},
	"QUEUE":      {"/queues", "queues", "name", ""},
	"SINK":       {"/sinks", "sinks", "name", "type"},
	"TYPE":       {"/types", "types", "code", "name"},
	"SUBSCRIBER": {"/subscribers?limit=1000", "subscribers", "id", "name"},
	"TOKEN":      {"/tokens", "tokens", "id", "name"},
	"SILENCE":    {"/silences", "silences", "id", "comment"},
}

// flagLists are the flags whose value is such a name.
var flagLists = map[string]string{"rule": "RULE", "sink": "SINK", "type": "TYPE", "subscriber": "SUBSCRIBER", "deliver": "SINK"}

// fixedFlags are the flags that take one of a few words.
var fixedFlags = map[string][]string{
	"output": {"table", "json", "yaml"}, "log-level": {"debug", "info", "warn", "error"}, "log-format": {"text", "json"},
	"access": roleNames(),
}

func roleNames() []string {
	var names []string
	for _, role := range auth.Roles() {
		names = append(names, string(role))
	}
	return names
}

// fileArguments are the arguments that are files.
var fileArguments = []string{"FILE", "PATH", "OLD", "NEW"}

// complete has shells complete what the commands take: names from the server where a command talks to one, and else words and files.
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

// argumentsOf are the arguments that a usage names: "show QUEUE [ITEM]" has QUEUE and ITEM.
func argumentsOf(use string) []string {
	var list []string
	for _, word := range strings.Fields(use)[1:] {
		word = strings.Trim(word, "[]….")
		if word == "|" || strings.HasPrefix(word, "-") {
			break // the rest is flags, or another way to call it
		}
		list = append(list, word)
	}
	return list
}

// completeFlags has the values of a command's flags completed.
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

// namesOf asks the server for the names that begin so. Whatever goes wrong, there are none: a shell shows no errors while somebody types.
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
			name += "\t" + terminal.OneLine(about) // shells show what stands behind the tab, and complete what stands before
		}
		names = append(names, name)
	}
	return names
}
