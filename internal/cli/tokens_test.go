package cli

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"tallyman/internal/config"
)

// A flag for calling a server means a server, in every command that can also open the ledger: the flag is never ignored.
func TestFlagsOfServersMeanAServer(t *testing.T) {
	t.Parallel()
	needed := map[string][]string{ // What a command needs besides.
		"tallyman health":        {},
		"tallyman tokens create": {"--subject", "user:ann", "--access", "admin"},
		"tallyman tokens list":   {},
		"tallyman tokens revoke": {"t_5rmwxhkqj2ab"},
	}
	none := filepath.Join(t.TempDir(), "none")
	s := Services{OpenTokens: func(context.Context, *config.Config) (TokenLedger, error) {
		return nil, errors.New("the ledger was opened")
	}}
	for _, name := range bothWays((&command{}).root()) {
		rest, ok := needed[name]
		if !ok {
			t.Errorf("%s asks a server or reads the configuration: say here which arguments the command needs", name)
		}
		delete(needed, name)
		for _, c := range []struct {
			args []string
			want string
		}{
			{[]string{"--token-file", none}, "--token-file: open " + none},
			{[]string{"--ca-file", none}, "--ca-file: open " + none},
			{[]string{"--token-file", none, "--set", "ledger.url=sqlite:x"}, "give flags of one kind only"},
			{[]string{"--ca-file", none, "--config", none}, "give flags of one kind only"},
			{[]string{"--server", "http://127.0.0.1:1", "--config", none}, "give flags of one kind only"},
		} {
			var out, errOut bytes.Buffer
			args := append(append(strings.Fields(name)[1:], rest...), c.args...)
			if code := Run(t.Context(), Process{Args: args, Out: &out, Err: &errOut}, s); code != ExitUsage || !strings.Contains(errOut.String(), c.want) {
				t.Errorf("%v: %d %s", args, code, errOut.String())
			}
		}
	}
	for name := range needed {
		t.Errorf("%s does not ask a server or read the configuration any more", name)
	}
}

// bothWays returns the commands that take either the flags of a server or those of the configuration. doctor takes both.
func bothWays(cmd *cobra.Command) (names []string) {
	if cmd.Name() != "doctor" && cmd.Flags().Lookup("server") != nil && cmd.Flags().Lookup("config") != nil {
		names = append(names, cmd.CommandPath())
	}
	for _, sub := range cmd.Commands() {
		names = append(names, bothWays(sub)...)
	}
	return names
}
