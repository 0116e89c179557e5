package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/authoring"
	"tallyman/internal/cli/terminal"
	"tallyman/internal/config"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
	"tallyman/rules/schedule"
)

// newFlags are the flags of rules new, and values that init adds. Most flags answer a question of the wizard.
type newFlags struct {
	source, table, id, typ, where, warehouse, cron, out string
	key                                                 []string
	fields                                              map[string]string
	language, place                                     string // set by init; place: the warehouse if no column has it
	ask, yes, force, test                               bool
	first                                               bool // the first rule of a site, with DefaultFile and a test
	given                                               func(flag string) bool
}

// newForm is the answer of rules new.
type newForm struct {
	Rule  string   `json:"rule"`
	Files []string `json:"files"`
}

func (c ruleCommands) new() *cobra.Command {
	var f newFlags
	cmd := c.withConfig(&cobra.Command{
		Use:   "new",
		Short: "Make a first rule from a table, by questions or flags",
		Long: `Make a first version of a rule from a table of a source. The command proposes the key from the catalogue of the database (the primary key, or a
unique index). From the names of the columns it proposes the condition (a quantity below zero), the warehouse and the data of the notice.

At a terminal the command asks for everything that no flag says: Enter takes the value in brackets, ? lists the choices. Elsewhere the command takes
its own proposals. The rule is checked on its source before the file is written. No file is replaced without --force.`,
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
	flags.StringVar(&f.cron, "cron", "", `when the rule runs (default "*/5 * * * *")`)
	flags.StringVar(&f.id, "id", "", "the rule's id")
	flags.StringVar(&f.out, "out", "", "the file (default ID.yaml in the first of the configuration's rules.paths)")
	flags.BoolVar(&f.test, "test", false, "write a first test beside it, ID_test.yaml")
	flags.BoolVar(&f.ask, "ask", false, "ask, even if the input is not a terminal")
	flags.BoolVar(&f.yes, "yes", false, "take all proposals, and ask nothing")
	flags.BoolVar(&f.force, "force", false, "replace files")
	return cmd
}

func (c ruleCommands) newRule(ctx context.Context, f *newFlags) error {
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

// make collects the answers, checks the resulting rule, and writes the files.
func (c ruleCommands) make(ctx context.Context, w *wizard) error {
	rule, files, sound, err := c.draft(ctx, w)
	if err != nil {
		return err
	}
	if w.prompt != nil {
		ok, err := w.prompt.Yes(fmt.Sprintf("Write the rule to %s?", shortPath(files[0].Path)), sound)
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("nothing was written")
		}
	}
	return c.writeNew(w, rule, files)
}

// draft collects the answers, and checks the rule that results. sound tells whether the rule would run. Without a
// prompt, a rule that would not run is an error.
func (c ruleCommands) draft(ctx context.Context, w *wizard) (rule *authoring.NewRule, files []authoring.NewFile, sound bool, err error) {
	if rule, err = w.rule(ctx); err != nil {
		return nil, nil, false, err
	}
	if files, err = w.files(rule); err != nil {
		return nil, nil, false, err
	}
	if w.prompt != nil {
		fmt.Fprintf(c.Err, "\n%s\n", files[0].Text)
	}
	problems, warnings := w.maker.Check(ctx, shortPath(files[0].Path), files[0].Text)
	printProblems(c.Err, problems)
	printWarnings(c.Err, warnings)
	if len(problems) > 0 && w.prompt == nil {
		return nil, nil, false, fmt.Errorf("nothing was written: the rule would not run")
	}
	return rule, files, len(problems) == 0, nil
}

func (c ruleCommands) writeNew(w *wizard, rule *authoring.NewRule, files []authoring.NewFile) error {
	form := newForm{Rule: rule.ID}
	for _, f := range files {
		if err := writeFile(f, w.force); err != nil {
			return err
		}
		form.Files = append(form.Files, shortPath(f.Path))
	}
	return c.print(form, func(out io.Writer) {
		for _, path := range form.Files {
			fmt.Fprintf(out, "Wrote %s\n", path)
		}
		with := ""
		if c.config != "" {
			with = " --config " + c.config
		}
		if filepath.Dir(form.Files[0]) != filepath.Dir(shortPath(w.maker.DefaultFile(rule))) { // Preview looks elsewhere.
			with += " --rules " + form.Files[0]
		}
		fmt.Fprintf(out, "Next: tallyman rules preview %s%s shows the notices that the rule would make now\n", rule.ID, with)
	})
}

// pickSource returns the named source, or the only source. With several sources it asks.
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
		return "", usage("name the source with --source: %s", strings.Join(names, ", "))
	}
	return p.Ask(terminal.Question{Text: "Source", Choices: names, Check: oneOf(names, "source")})
}

// wizard asks the questions of rules new. wizard skips questions that a flag answers. Without a prompt it takes the
// proposals.
type wizard struct {
	*newFlags
	prompt *terminal.Prompt // nil = no questions
	maker  *authoring.RuleMaker
}

// answer returns the value of the flag. Without the flag it asks, and without a prompt it takes the proposal.
func (w *wizard) answer(flag, given string, q terminal.Question) (string, error) {
	switch {
	case w.given(flag):
		if q.Check != nil && given != "" {
			if err := q.Check(given); err != nil {
				return "", usage("--%s: %w", flag, err)
			}
		}
		return given, nil
	case w.prompt != nil:
		return w.prompt.Ask(q)
	case q.Proposal == "" && !q.Empty:
		text := strings.TrimPrefix(q.Text, "Key: ")
		return "", usage("--%s is needed: %s", flag, strings.ToLower(text[:1])+text[1:])
	}
	return q.Proposal, nil
}

func (w *wizard) rule(ctx context.Context) (*authoring.NewRule, error) {
	r, err := w.start(ctx)
	if err != nil {
		return nil, err
	}
	r.Language = w.language
	for _, step := range []func(*authoring.NewRule) error{w.askWhere, w.askKey, w.askType, w.askFields, w.askWarehouse, w.askCron, w.askID} {
		if err := step(r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// start asks for the table, and reads its columns from the database.
func (w *wizard) start(ctx context.Context) (*authoring.NewRule, error) {
	if w.prompt == nil || w.table != "" {
		if w.table == "" {
			return nil, usage("name the table with --table")
		}
		return w.maker.Start(ctx, w.table)
	}
	tables, err := w.maker.Tables(ctx)
	if err != nil {
		return nil, err
	}
	if len(tables) == 0 {
		return nil, usage("the source %s has no tables or views; name another with --source, or a configuration with --config", w.maker.Source())
	}
	var r *authoring.NewRule
	var broken error
	_, err = w.prompt.Ask(terminal.Question{Text: "Table or view", Choices: tables, Check: func(name string) error {
		var wrong *authoring.UsageError
		r, err = w.maker.Start(ctx, name)
		if err != nil && !errors.As(err, &wrong) {
			broken = err // Another question would not help.
			return nil
		}
		return err
	}})
	if err == nil && broken == nil {
		w.prompt.Note("  its columns: %s", strings.Join(r.ColumnNames(), ", "))
	}
	return r, errors.Join(err, broken)
}

func (w *wizard) askWhere(r *authoring.NewRule) (err error) {
	q := terminal.Question{Text: "Which rows are wrong, as a condition in SQL", Proposal: r.Where}
	if w.prompt != nil && r.Where == "" {
		q.Empty, q.Text = true, q.Text+" (empty: all)"
	}
	r.Where, err = w.answer("where", w.where, q)
	return err
}

func (w *wizard) askKey(r *authoring.NewRule) error {
	q := terminal.Question{Text: "Key: the columns that tell one finding from another", Proposal: strings.Join(r.Key, ", "), Choices: r.ColumnNames()}
	if r.KeyIs != "" {
		q.Text += ", " + r.KeyIs
	} else if w.prompt != nil {
		w.prompt.Note("  %s has neither a primary key nor a unique index: choose", r.Table)
	}
	q.Check = func(answer string) error {
		for _, name := range list(answer) {
			if r.Column(name) == nil {
				return unknown("column", name, r.ColumnNames())
			}
		}
		return nil
	}
	answer, err := w.answer("key", strings.Join(w.key, ", "), q)
	if answer != strings.Join(r.Key, ", ") {
		r.Key, r.KeyIs = list(answer), ""
	}
	return err
}

func (w *wizard) askType(r *authoring.NewRule) error {
	types := w.maker.Types()
	var codes, shown []string
	for _, t := range types {
		codes, shown = append(codes, t.Code), append(shown, t.Code+"  "+t.Name)
	}
	code, err := w.answer("type", w.typ, terminal.Question{
		Text: "Type of its notices", Proposal: r.Type, Choices: shown, Check: oneOf(codes, "type"),
	})
	if i := slices.IndexFunc(types, func(t catalog.Type) bool { return t.Code == code }); i >= 0 && code != r.Type {
		r.SetType(types[i])
	}
	return err
}

// askFields asks for required fields of the type that have no column.
func (w *wizard) askFields(r *authoring.NewRule) error {
	for name := range w.fields {
		if !slices.ContainsFunc(r.Fields, func(f authoring.NewField) bool { return f.Name == name }) {
			return usage("--field: the type %s has no field %q", r.Type, name)
		}
	}
	for i, f := range r.Fields {
		switch given, ok := w.fields[f.Name]; {
		case ok:
			r.Fields[i].Expr = given
		case f.Expr != "" || !f.Required:
		case w.prompt == nil:
			return usage("%s requires the field %q, and no column has this name; name the column with --field %s=COLUMN", r.Type, f.Name, f.Name)
		default:
			answer, err := w.prompt.Ask(terminal.Question{Text: fmt.Sprintf("Field %s of %s: a column or expression", f.Name, r.Type), Choices: r.ColumnNames()})
			if err != nil {
				return err
			}
			r.Fields[i].Expr = answer
		}
	}
	return nil
}

func (w *wizard) askWarehouse(r *authoring.NewRule) (err error) {
	r.Warehouse, err = w.answer("warehouse", w.warehouse, terminal.Question{
		Text: `Warehouse: a column, or a name in quotes such as "w1"`, Proposal: cmp.Or(r.Warehouse, w.place), Choices: r.ColumnNames(),
	})
	return err
}

func (w *wizard) askCron(r *authoring.NewRule) (err error) {
	r.Cron, err = w.answer("cron", w.cron, terminal.Question{Text: "When the rule runs (cron)", Proposal: r.Cron, Check: func(answer string) error {
		_, err := schedule.Parse(answer, "UTC")
		return err
	}})
	return err
}

var newID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

func (w *wizard) askID(r *authoring.NewRule) error {
	id, err := w.answer("id", w.id, terminal.Question{Text: "Id of the rule; it cannot change later", Proposal: r.ID, Check: func(answer string) error {
		if !newID.MatchString(answer) {
			return errors.New("lower-case letters, digits and -, at most 63")
		}
		return nil
	}})
	if id != r.ID && id != "" {
		r.ID, r.Title = id, strings.ToUpper(id[:1])+strings.ReplaceAll(id[1:], "-", " ")
	}
	return err
}

// files asks for the path of the rule file.
func (w *wizard) files(r *authoring.NewRule) ([]authoring.NewFile, error) {
	if w.first {
		return w.maker.Files(r, w.maker.DefaultFile(r), true)
	}
	path, err := w.answer("out", w.out, terminal.Question{Text: "File", Proposal: shortPath(w.maker.DefaultFile(r)), Check: func(answer string) error {
		if _, err := os.Stat(answer); err == nil && !w.force {
			return fmt.Errorf("%s is there already; --force replaces it", answer)
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	if w.prompt != nil && !w.given("test") {
		if w.test, err = w.prompt.Yes("A first test beside it?", true); err != nil {
			return nil, err
		}
	}
	return w.maker.Files(r, path, w.test)
}

// list returns the names in a text with commas.
func list(s string) []string {
	var names []string
	for name := range strings.SplitSeq(s, ",") {
		names = append(names, strings.TrimSpace(name))
	}
	return names
}

func oneOf(names []string, what string) func(string) error {
	return func(answer string) error {
		if slices.Contains(names, answer) {
			return nil
		}
		return unknown(what, answer, names)
	}
}

func unknown(what, name string, names []string) error {
	hint := problem.DidYouMean(name, names)
	if hint == "" {
		hint = "there are: " + strings.Join(names, ", ")
	}
	return fmt.Errorf("there is no %s %q; %s", what, name, hint)
}
