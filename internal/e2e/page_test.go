package e2e

import (
	"strings"
	"testing"
)

// commandsBelow returns the first shell block below a heading of the text of a page, without the indent of a list.
func commandsBelow(t *testing.T, page, heading string) string {
	t.Helper()
	_, text, found := strings.Cut(page, "\n"+heading+"\n")
	if !found {
		t.Fatalf("the page has no heading %q", heading)
	}
	level, _, _ := strings.Cut(heading, " ")
	text, _, _ = strings.Cut(text, "\n"+level+" ")
	text, _, _ = strings.Cut(text, "\n"+strings.TrimSuffix(level, "#")+" ")
	_, text, found = strings.Cut(text, "```sh\n")
	if !found {
		t.Fatalf("the page has no commands below %q", heading)
	}
	text, _, _ = strings.Cut(text, "```")
	var commands strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimLeft(line, " "); line != "" {
			commands.WriteString(line)
		}
	}
	return commands.String()
}

// runCommands runs the lines in their order. own runs a line itself, and returns whether it has. shell runs the others.
func runCommands(lines string, shell func(script string), own func(words []string) bool) {
	script := ""
	flush := func() {
		if script != "" {
			shell(script)
			script = ""
		}
	}
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		if words[0] == "tallyman" || words[0] == "systemctl" {
			flush()
			if own(words) {
				continue
			}
		}
		script += line
	}
	flush()
}
