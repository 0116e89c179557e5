package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tallyman/internal/authoring"
	"tallyman/internal/cli/terminal"
	"tallyman/internal/config"
)

// newFlags are the answers that are given beforehand.
type newFlags struct {
	source, table, id, typ, where, warehouse, cron, out string
	key                                                 []string
	fields                                              map[string]string
	ask, yes, force, test                               bool
	given                                               func(flag string) bool
}

// newForm is the answer of rules new.
type newForm struct {
	Rule  string   `json:"rule"`
	Files []string `json:"files"`
}

func (c *command) rulesNew() *cobra.Command {
	var f newFlags
	cmd := c.withConfig(&cobra.Command{
		Use:   "new",
		Short: "Make a first rule from a table: asks, or takes flags",
		Long: `Make a first version of a rule from a table of a source. The catalogue of the database proposes the key (its primary key, or a
unique index), and the names of the columns what is wrong (a quantity below zero), the warehouse and the data of the notice.

At a terminal it asks for what no flag says; Enter takes what stands in brackets, ? lists what there is. Elsewhere it takes
what is proposed. The rule is checked on its source before it is written. No file is replaced without --force.`,
		Example: `  tallyman rules new
  tallyman rules new --source wms --table bin_stock --where "qty < 0" --id negative-bin-stock --yes --test`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.given = cmd.Flags().Changed
			return c.newRule(cmd.Context(), &f)
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&f.source, "source", "", "a configured source (default the only one)")
	flags.StringVar(&f.table, "table", "", "a table or view of the source")
	flags.StringVar(&f.where, "where", "", `which rows are wrong, in SQL, as "qty < 0"; empty = all`)
	hasLines(flags, "where")
	flags.StringSliceVar(&f.key, "key", nil, "the columns that tell one finding from another, separated by commas")
	flags.StringVar(&f.typ, "type", "", "a type of the catalogue")
	flags.StringToStringVar(&f.fields, "field", nil, "a field of the type and its column or expression, as bin=bin_code; may be repeated")
	flags.StringVar(&f.warehouse, "warehouse", "", `the column that holds the warehouse, or an expression such as "'w1'"`)
	flags.StringVar(&f.cron, "cron", "", `when it looks (default "*/5 * * * *")`)
	flags.StringVar(&f.id, "id", "", "the rule's id")
	flags.StringVar(&f.out, "out", "", "the file (default ID.yaml in the first of the configuration's rules.paths)")
	flags.BoolVar(&f.test, "test", false, "write a first test beside it, ID_test.yaml")
	flags.BoolVar(&f.ask, "ask", false, "ask, also where the input is no terminal")
	flags.BoolVar(&f.yes, "yes", false, "take what is proposed, and ask nothing")
	flags.BoolVar(&f.force, "force", false, "replace files")
	return cmd
}

func (c *command) newRule(ctx context.Context, f *newFlags) error {
	cfg, err := c.lazyConfig()
	if err != nil {
		return err
	}
	var p *terminal.Prompt
	if f.ask || !f.yes && terminal.Is(c.In) {
		p = terminal.NewPrompt(c.In, c.Err)
	}
	if f.source, err = pickSource(cfg, f, p); err != nil {
		return err
	}
	maker, err := c.services.OpenRuleMaker(ctx, cfg, f.source)
	if err != nil {
		return err
	}
	w := &wizard{newFlags: f, prompt: p, maker: maker}
	err = c.make(ctx, w)
	return errors.Join(siteError(err), maker.Close())
}

// make collects the answers, checks what they come to, and writes it.
func (c *command) make(ctx context.Context, w *wizard) error {
	rule, err := w.rule(ctx)
	if err != nil {
		return err
	}
	files, err := w.files(rule)
	if err != nil {
		return err
	}
	if w.prompt != nil {
		fmt.Fprintf(c.Err, "\n%s\n", files[0].Text)
	}
	problems, warnings := w.maker.Check(ctx, shortPath(files[0].Path), files[0].Text)
	printProblems(c.Err, problems)
	printWarnings(c.Err, warnings)
	if len(problems) > 0 && w.prompt == nil {
		return fmt.Errorf("nothing is written: the rule would not run")
	}
	if w.prompt != nil {
		ok, err := w.prompt.Yes(fmt.Sprintf("Write it to %s?", shortPath(files[0].Path)), len(problems) == 0)
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("nothing is written")
		}
	}
	return c.writeNew(rule, files, w.force)
}

func (c *command) writeNew(rule *authoring.NewRule, files []authoring.NewFile, force bool) error {
	form := newForm{Rule: rule.ID}
	for _, f := range files {
		if err := writeFile(f, force); err != nil {
			return err
		}
		form.Files = append(form.Files, shortPath(f.Path))
	}
	return c.print(form, func(w io.Writer) {
		for _, path := range form.Files {
			fmt.Fprintf(w, "Wrote %s\n", path)
		}
		with := ""
		if c.config != "" {
			with = " --config " + c.config
		}
		fmt.Fprintf(w, "Next: tallyman rules preview %s%s shows what it would tell now\n", rule.ID, with)
	})
}

func writeFile(f authoring.NewFile, force bool) error {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil { //nolint:gosec // rule files are no secrets
		return err
	}
	how := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		how = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(f.Path, how, 0o644) //nolint:gosec // as above
	if errors.Is(err, os.ErrExist) {
		return usage("%s is there already; --force replaces it", shortPath(f.Path))
	}
	if err != nil {
		return err
	}
	_, err = file.Write(f.Text)
	return errors.Join(err, file.Close())
}

// pickSource is the source that was named, the only one, or the one that is answered.
func pickSource(cfg *config.Config, f *newFlags, p *terminal.Prompt) (string, error) {
	names := slices.Sorted(maps.Keys(cfg.Sources))
	switch {
	case f.source != "":
		return f.source, nil
	case len(names) == 0:
		return "", usage("the configuration has no sources; add one, with the address of the database")
	case len(names) == 1:
		return names[0], nil
	case p == nil:
		return "", usage("name the source with --source: %s", joined(names))
	}
	return p.Ask(terminal.Question{Text: "Source", Choices: names, Check: oneOf(names, "source")})
}

// shortPath is the path from the working folder, where it is below it.
func shortPath(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	short, err := filepath.Rel(here, path)
	if err != nil || !filepath.IsLocal(short) {
		return path
	}
	return short
}
