package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const referenceHead = `# Commands

This page is generated from the code. It lists every command of ` + "`tallyman`" + ` with its flags. ` + "`tallyman COMMAND --help`" + `
prints the same.

## Exit codes

`

// referenceWidth is the width of the prose in the reference, in characters.
const referenceWidth = "120"

// describing returns a run of the program that only describes its commands.
func describing() *command {
	return &command{Process: Process{Env: []string{"COLUMNS=" + referenceWidth}, Out: io.Discard}}
}

// Root returns the tree of the commands, for man pages and completions. The commands do not run.
func Root() *cobra.Command {
	root := describing().root()
	root.InitDefaultCompletionCmd()
	return root
}

// Reference returns the reference page of all commands, in Markdown.
func Reference() string {
	c, root := describing(), Root()
	r := &reference{shared: []sharedFlags{
		{"Flags of every command", "", root.PersistentFlags()},
		{"Flags of commands that call a server", "server", c.withServer(&cobra.Command{}).Flags()},
		{"Flags of commands that read the configuration", "config", c.withConfig(&cobra.Command{}).Flags()},
	}}
	fmt.Fprint(r, referenceHead)
	for code, meaning := range exitCodes {
		fmt.Fprintf(r, "- `%d`: %s\n", code, meaning)
	}
	for _, s := range r.shared {
		fmt.Fprintf(r, "\n## %s\n\n", s.title)
		r.flags(s.set, func(*pflag.Flag) bool { return true })
	}
	for _, cmd := range root.Commands() {
		r.command(cmd)
	}
	return r.String()
}

// reference writes the page.
type reference struct {
	strings.Builder

	shared []sharedFlags
}

// sharedFlags are flags that many commands have.
type sharedFlags struct {
	title string
	sign  string // A command with this flag has all flags of the group; "" = every command has them.
	set   *pflag.FlagSet
}

func (r *reference) command(cmd *cobra.Command) {
	if !cmd.IsAvailableCommand() {
		return
	}
	level := strings.Repeat("#", min(strings.Count(cmd.CommandPath(), " ")+1, 4))
	fmt.Fprintf(r, "\n%s %s\n\n%s.\n", level, cmd.CommandPath(), escaped(strings.TrimSuffix(cmd.Short, ".")))
	if cmd.HasSubCommands() {
		for _, sub := range cmd.Commands() {
			r.command(sub)
		}
		return
	}
	fmt.Fprintf(r, "\n```text\n%s\n```\n", cmd.UseLine())
	if rest := strings.Trim(strings.TrimPrefix(cmd.Long, cmd.Short), ". \n"); rest != "" {
		if last := rest[strings.LastIndex(rest, "\n")+1:]; !strings.HasPrefix(last, " ") {
			rest += "."
		}
		r.prose(rest)
	}
	if cmd.Example != "" {
		fmt.Fprintf(r, "\n```sh\n%s\n```\n", unindented(cmd.Example))
	}
	var also []string
	for _, s := range r.shared[1:] {
		if cmd.Flags().Lookup(s.sign) != nil {
			also = append(also, fmt.Sprintf("[%s](#%s)", strings.Replace(s.title, "Flags", "the flags", 1), strings.ToLower(strings.ReplaceAll(s.title, " ", "-"))))
		}
	}
	own := func(f *pflag.Flag) bool {
		for _, s := range r.shared {
			if s.set.Lookup(f.Name) != nil && (s.sign == "" || cmd.Flags().Lookup(s.sign) != nil) {
				return false
			}
		}
		return f.Name != "help" && !f.Hidden
	}
	has := false
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { has = has || own(f) })
	if has {
		fmt.Fprint(r, "\n")
		r.flags(cmd.LocalFlags(), own)
	}
	if len(also) > 0 {
		fmt.Fprintf(r, "\nThe command has %s, too.\n", strings.Join(also, " and\n"))
	}
}

// prose writes paragraphs. Indented lines stay unchanged.
func (r *reference) prose(text string) {
	fmt.Fprint(r, "\n")
	fenced := false
	for line := range strings.SplitSeq(text, "\n") {
		if is := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"); is != fenced && line != "" {
			fenced = is
			if fenced {
				fmt.Fprint(r, "```text\n")
			} else {
				fmt.Fprint(r, "```\n")
			}
		}
		if !fenced {
			line = escaped(line)
		}
		fmt.Fprint(r, line+"\n")
	}
	if fenced {
		fmt.Fprint(r, "```\n")
	}
}

// flags writes a table of flags.
func (r *reference) flags(set *pflag.FlagSet, has func(f *pflag.Flag) bool) {
	fmt.Fprint(r, "| flag | default | meaning |\n| --- | --- | --- |\n")
	set.VisitAll(func(f *pflag.Flag) {
		if !has(f) {
			return
		}
		name, usage := pflag.UnquoteUsage(f)
		written := "`--" + f.Name
		if f.Shorthand != "" {
			written = "`-" + f.Shorthand + "`, " + written
		}
		if name != "" {
			written += " " + strings.ToUpper(strings.TrimSuffix(name, "Array"))
		}
		initial := f.DefValue
		if initial == "[]" || initial == "false" || initial == "0s" || initial == "0" && strings.Contains(usage, "default") {
			initial = ""
		}
		if initial != "" {
			initial = "`" + initial + "`"
		}
		fmt.Fprintf(r, "| %s` | %s | %s |\n", written, initial, strings.ReplaceAll(escaped(usage), "|", `\|`))
	})
}

// escaped returns the text with escapes, so that Markdown shows it unchanged.
func escaped(text string) string {
	return strings.NewReplacer("*", `\*`, "<", "&lt;", "_", `\_`).Replace(text)
}

// unindented returns an example without the indentation of its lines.
func unindented(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		b.WriteString(strings.TrimPrefix(line, "  ") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
