package cli

import (
	"strings"
	"testing"

	"tallyman/internal/cli/terminal"
)

func TestHelpFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"rules", "--help"}, {"silences", "add", "--help"}, {"tokens", "create", "--help"}} {
		var out, errOut strings.Builder
		code := Run(t.Context(), Process{Args: args, Env: []string{"COLUMNS=80"}, In: strings.NewReader(""), Out: &out, Err: &errOut}, Services{})
		text, _, _ := strings.Cut(out.String(), "\nUsage:\n")
		_, flags, _ := strings.Cut(out.String(), "\nFlags:\n")
		for line := range strings.Lines(text + "\n" + flags) {
			if terminal.CellWidth(strings.TrimSuffix(line, "\n")) > 80 {
				t.Errorf("%v: too wide: %s", args, line)
			}
		}
		if code != ExitFine || strings.Contains(out.String(), "tallyman rules [flags]") || !strings.Contains(out.String(), "Usage:\n  tallyman ") {
			t.Errorf("%v: %d %s%s", args, code, out.String(), errOut.String())
		}
	}
}
