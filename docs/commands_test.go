package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tallyman/docs/codetest"
	"tallyman/internal/cli"
)

// TestCommands looks whether each command of tallyman that a page shows is there, with the flags that it shows.
func TestCommands(t *testing.T) {
	t.Parallel()
	known := commandTree{}
	n := 0
	for _, page := range guides(t) {
		for _, c := range shownCommands(t, page) {
			n++
			if fault := known.fault(t, c.words); fault != "" {
				t.Errorf("%s:%d: tallyman %s: %s", page, c.line, strings.Join(c.words, " "), fault)
			}
		}
	}
	if n < 200 {
		t.Errorf("only %d commands were found", n)
	}
}

// shown is a command of a page, less its name.
type shown struct {
	line  int
	words []string
}

// inlineCommand is code within a line of prose.
var inlineCommand = regexp.MustCompile("`(tallyman [^`]+)`")

// shownCommands are those of the shell blocks of a page, and those in its prose.
func shownCommands(t *testing.T, page string) (list []shown) {
	t.Helper()
	inside := map[int]bool{}
	for _, b := range blocksOf(t, page) {
		for i, line := range strings.Split(b.text, "\n") {
			inside[b.line+i] = true
			switch b.language {
			case "sh":
			case "", "text":
				rest, prompt := strings.CutPrefix(line, "$ ")
				if !prompt {
					continue // what a command prints
				}
				line = rest
			default:
				continue
			}
			for _, words := range tallymanIn(line) {
				list = append(list, shown{b.line + i, words})
			}
		}
	}
	for i, line := range strings.Split(codetest.ReadFile(t, page), "\n") {
		if inside[i+1] {
			continue
		}
		for _, m := range inlineCommand.FindAllStringSubmatch(line, -1) {
			for _, words := range tallymanIn(m[1]) {
				list = append(list, shown{i + 1, words})
			}
		}
	}
	return list
}

// tallymanIn finds the commands of tallyman in a line of shell.
func tallymanIn(line string) (list [][]string) {
	begins := true // the next word is the name of a program
	var current []string
	inside := false
	end := func() {
		if inside {
			list = append(list, current)
		}
		current, inside, begins = nil, false, true
	}
	for _, w := range shellWords(line) {
		switch {
		case w == ";":
			end()
		case inside:
			current = append(current, w)
		case begins && (w == "tallyman" || strings.HasSuffix(w, "/tallyman") && !strings.Contains(w, "=")):
			inside = true
		case begins && (strings.Contains(w, "=") || w == "export" || w == "exec" || w == "do" || w == "umask"):
		default:
			begins = false
		}
	}
	end()
	return list
}

// shellWords splits a line of shell. What ends a command is the word ";". Redirections and comments are left out.
func shellWords(line string) (list []string) {
	var word strings.Builder
	started, redirects := false, false
	var quote rune
	flush := func() {
		if started && !redirects {
			list = append(list, word.String())
		}
		if started {
			redirects = false
		}
		word.Reset()
		started = false
	}
	for i, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, started = r, true
		case r == '#' && !started && (i == 0 || line[i-1] == ' '):
			flush()
			return list
		case r == '>' || r == '<':
			flush()
			redirects = true
		case strings.ContainsRune(";&|()", r):
			flush()
			redirects = false
			list = append(list, ";")
		case r == ' ' || r == '\t':
			flush()
		default:
			started = true
			word.WriteRune(r)
		}
	}
	flush()
	return list
}

// commandTree has what the program says of each command, by its words.
type commandTree map[string]*commandHelp

type commandHelp struct{ commands, flags map[string]bool }

var (
	helpCommand = regexp.MustCompile(`(?m)^  ([a-z][a-z-]*) +\S`)
	helpFlag    = regexp.MustCompile(`(?m)^ +(?:(-[a-zA-Z]), )?(--[a-z][a-z-]*)`)
)

// of asks the program for the help of a command.
func (c commandTree) of(t *testing.T, path []string) *commandHelp {
	t.Helper()
	key := strings.Join(path, " ")
	if c[key] != nil {
		return c[key]
	}
	var out, errOut strings.Builder
	args := append(append([]string{}, path...), "--help")
	if code := cli.Run(t.Context(), cli.Process{Args: args, Env: []string{"COLUMNS=200"}, In: strings.NewReader(""), Out: &out, Err: &errOut}, cli.Services{}); code != 0 {
		t.Fatalf("tallyman %s --help: %d, %s", key, code, errOut.String())
	}
	h := &commandHelp{commands: map[string]bool{}, flags: map[string]bool{"--help": true, "-h": true}}
	if _, rest, ok := strings.Cut(out.String(), "\nAvailable Commands:\n"); ok {
		section, _, _ := strings.Cut(rest, "\n\n")
		for _, m := range helpCommand.FindAllStringSubmatch(section, -1) {
			h.commands[m[1]] = true
		}
	}
	_, rest, _ := strings.Cut(out.String(), "\nFlags:\n")
	for _, m := range helpFlag.FindAllStringSubmatch(rest, -1) {
		h.flags[m[1]], h.flags[m[2]] = true, true
	}
	c[key] = h
	return h
}

// fault says what the program does not know of a command.
func (c commandTree) fault(t *testing.T, words []string) string {
	t.Helper()
	var path []string
	h := c.of(t, nil)
	deepest := false
	for _, w := range words {
		w = strings.TrimRight(w, ".,…")
		name, _, _ := strings.Cut(w, "=")
		switch {
		case w == "" || w == "-":
		case strings.HasPrefix(w, "-"):
			if !h.flags[name] {
				return "no flag " + name
			}
		case deepest || len(h.commands) == 0:
			deepest = true
		case w == strings.ToUpper(w):
			deepest = true // a placeholder, as COMMAND
		case !h.commands[w]:
			return "no command " + w
		default:
			path = append(path, w)
			h = c.of(t, path)
		}
	}
	return ""
}

func TestCommandsInALine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`tallyman status # all`: "status",
		`(umask 077; tallyman tokens create --subject "user:ann" > admin.token)`: "tokens create --subject user:ann",
		`TALLYMAN_LEDGER__URL=postgres://a@b/tallyman tallyman migrate up`:       "migrate up",
		`TALLYMAN_TOKEN=x bin/tallyman queue list | head`:                        "queue list",
		`source <(tallyman completion bash)`:                                     "completion bash",
		`echo tallyman`:                                                          "",
	} {
		got := ""
		if list := tallymanIn(line); len(list) > 0 {
			got = strings.Join(list[0], " ")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestTablesHaveTheirColumns: a table that a page shows as output begins with the columns of a table that the command line prints.
func TestTablesHaveTheirColumns(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../internal/cli/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, file := range files {
		source.WriteString(codetest.ReadFile(t, file))
	}
	var tables [][]string
	for _, m := range regexp.MustCompile(`\{" *([A-Z ]+"(?:, "[A-Z ]+")+)`).FindAllStringSubmatch(source.String(), -1) {
		tables = append(tables, strings.Split(strings.TrimSuffix(m[1], `"`), `", "`))
	}
	header := regexp.MustCompile(`^[A-Z]+( [A-Z]+)*(  +[A-Z]+( [A-Z]+)*){2,}$`)
	n := 0
	for _, page := range guides(t) {
		for _, b := range blocksOf(t, page) {
			for i, line := range strings.Split(b.text, "\n") {
				line = strings.TrimSpace(line)
				if b.language != "text" && b.language != "" || !header.MatchString(line) {
					continue
				}
				n++
				columns := regexp.MustCompile(`  +`).Split(line, -1)
				if !slices.ContainsFunc(tables, func(table []string) bool { return lacksOnly(table, columns) }) {
					t.Errorf("%s:%d shows a table with the columns %q, which no command prints", page, b.line+i, columns)
				}
			}
		}
	}
	if n < 8 {
		t.Errorf("only %d tables were found", n)
	}
}

// lacksOnly tells whether the columns are those of the table in their order, less some that a narrow terminal leaves out.
func lacksOnly(table, columns []string) bool {
	for _, name := range table {
		if len(columns) > 0 && columns[0] == name {
			columns = columns[1:]
		}
	}
	return len(columns) == 0
}
