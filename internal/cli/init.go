package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/authoring"
	"tallyman/internal/cli/terminal"
	"tallyman/internal/config"
	"tallyman/internal/scaffold"
)

// initCommands are the commands that begin a site.
type initCommands struct{ *command }

// initForm is the answer of init.
type initForm struct {
	Folder string   `json:"folder"`
	Rule   string   `json:"rule"`
	Files  []string `json:"files"` // Relative to the folder.
}

// initFlags has the answers that flags give. init asks for the others, or takes their defaults.
type initFlags struct {
	newFlags

	site   scaffold.Site
	grants scaffold.Grants
	sample bool // The source is the sample warehouse, which init makes.
}

func (c initCommands) init() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init DIR | --sql DATABASE",
		Short: "Write the files of a new site, with a first rule and its test; or print the SQL of its database roles",
		Long: `Write the files of a new site to the folder DIR: tallyman.yaml, types.yaml, rules/ with a first rule and its test, .gitignore, and a CI file
that checks and tests the rules. The first rule is made from a table of the source, as "tallyman rules new" makes one. The site serves as it is.

At a terminal the command asks for everything that no flag says: Enter takes the value in brackets, ? lists the choices. With --yes and elsewhere
the command asks nothing and takes the defaults: an SQLite ledger, the embedded Redis, and a sample warehouse in wms.sqlite. No file is replaced.

An address with a password goes into a file below secrets/ that only you may read. A reference stays as it is: ${NAME} is an environment
variable, file:PATH is the content of a file.

With --sql the command prints SQL and writes nothing. The SQL makes the roles of a database with the least rights: the owner and the application
of a ledger in PostgreSQL (--for ledger), or the user that reads a source (--for source).`,
		Example: `  tallyman init site
  tallyman init shanghai --yes --ledger 'postgres://tallyman_app@db1:5432/tallyman' --redis 'redis://redis:6379/0' --source '${WMS_URL}' --driver postgres --table bin_stock
  tallyman init --sql postgres | psql --dbname postgres
  tallyman init --sql postgres --for source --database wms --table bin_stock,orders`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.grants.Dialect != "" {
				return c.printSQL(cmd, args, &f)
			}
			if len(args) != 1 {
				return usage("%s needs the folder of the new site, or --sql", cmd.CommandPath())
			}
			for _, flag := range []string{"for", "database", "schema"} {
				if cmd.Flags().Changed(flag) {
					return usage("--%s belongs to --sql", flag)
				}
			}
			f.given = func(flag string) bool {
				return flag == "out" || flag == "test" || flag != "warehouse" && cmd.Flags().Changed(flag)
			}
			return c.write(cmd.Context(), args[0], &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.site.Ledger, "ledger", "", `the ledger: sqlite:FILE or postgres://… (default "`+defaultSiteLedger+`")`)
	flags.StringVar(&f.site.Redis, "redis", "", `embedded or redis://… (default "`+config.Embedded+`")`)
	flags.StringVar(&f.site.Source, "source", "", "the address of the WMS database (default a sample warehouse in "+scaffold.SampleFile+")")
	flags.StringVar(&f.site.Driver, "driver", "", "postgres, mysql, sqlserver, oracle or sqlite (default by the address of the source)")
	flags.StringVar(&f.table, "table", "", "the table of the first rule; with --sql the tables that may be read, separated by commas (default all)")
	flags.StringVar(&f.where, "where", "", `which rows of the table are wrong, in SQL, as "qty < 0"`)
	hasLines(flags, "where")
	flags.StringSliceVar(&f.key, "key", nil, "the columns that tell one finding from another, separated by commas")
	flags.StringVar(&f.typ, "type", "", "the type of the first rule's notices")
	flags.StringVar(&f.site.Warehouse, "warehouse", "", `the warehouse whose notices role:keeper gets (default "*", which is all)`)
	flags.StringVar(&f.site.Language, "language", "", `the language of names and notices: en or zh (default "en")`)
	flags.StringVar(&f.site.CI, "ci", scaffold.GitHub, "whose CI file is written: github or gitlab")
	flags.BoolVar(&f.ask, "ask", false, "ask, even if the input is not a terminal")
	flags.BoolVar(&f.yes, "yes", false, "take all defaults, and ask nothing")
	flags.StringVar(&f.grants.Dialect, "sql", "", "print the roles of this database: "+strings.Join(scaffold.Dialects(), ", "))
	flags.StringVar((*string)(&f.grants.For), "for", "", "with --sql: ledger or source (default ledger for postgres, else source)")
	flags.StringVar(&f.grants.Database, "database", "", `with --sql: the database (default "tallyman" for a ledger, "wms" for a source)`)
	flags.StringVar(&f.grants.Schema, "schema", "", "with --sql: the schema with the tables (default public, dbo or wms)")
	return cmd
}

const defaultSiteLedger = "sqlite:tallyman.db"

func (c initCommands) printSQL(cmd *cobra.Command, args []string, f *initFlags) error {
	if len(args) > 0 {
		return usage("%s takes a folder or --sql, not both", cmd.CommandPath())
	}
	if f.table != "" {
		f.grants.Tables = list(f.table)
	}
	text, err := scaffold.SQL(f.grants)
	if err != nil {
		return usage("%w", err)
	}
	_, err = io.WriteString(c.Out, text)
	return err
}

// write asks for the values that the flags do not give, and writes the site. After a failure it removes the files and
// folders that it has written.
func (c initCommands) write(ctx context.Context, dir string, f *initFlags) (err error) {
	var p *terminal.Prompt
	if f.ask || !f.yes && terminal.Is(c.In) {
		p = terminal.NewPrompt(c.In, c.Err)
	}
	if err := f.answerSite(p); err != nil {
		return err
	}
	files, err := f.siteFiles()
	if err != nil {
		return err
	}
	w := &siteWriter{dir: dir}
	defer func() {
		if err != nil {
			w.undo()
		}
	}()
	if err := w.refuse(files, f.sample); err != nil {
		return err
	}
	for _, file := range files {
		if err := w.write(file); err != nil {
			return err
		}
	}
	if err := w.mkdir(filepath.Join(dir, "rules"), 0o755); err != nil {
		return err
	}
	if f.sample {
		if err := scaffold.MakeSample(ctx, dir); err != nil {
			return err
		}
		w.written = append(w.written, scaffold.SampleFile)
	}
	c.config = filepath.Join(dir, scaffold.ConfigFile)
	rule, err := c.firstRule(ctx, w, f, p)
	if err != nil {
		return err
	}
	if err := w.subscribe(&f.site, rule.Type); err != nil {
		return err
	}
	slices.Sort(w.written)
	form := initForm{Folder: dir, Rule: rule.ID, Files: w.written}
	return c.print(form, func(out io.Writer) { c.writeNext(out, form, f) })
}

func (c initCommands) writeNext(w io.Writer, form initForm, f *initFlags) {
	for _, path := range form.Files {
		fmt.Fprintf(w, "Wrote %s\n", filepath.Join(form.Folder, path))
	}
	fmt.Fprintf(w, "Next:\n  cd %s\n  export TALLYMAN_CONFIG=\"$PWD/%s\"\n", form.Folder, scaffold.ConfigFile)
	if !strings.HasPrefix(f.site.Ledger, "sqlite:") {
		fmt.Fprintf(w, "  tallyman migrate up\n")
	}
	fmt.Fprintf(w, "  tallyman tokens create --subject user:ann --access admin --out admin.token\n  tallyman serve\n")
}

// answerSite collects the answers about servers.
func (f *initFlags) answerSite(p *terminal.Prompt) error {
	s := &f.site
	var err error
	ask := func(to *string, q terminal.Question) {
		if *to != "" || err != nil {
			return
		}
		if *to = q.Proposal; p != nil {
			*to, err = p.Ask(q)
		}
	}
	const sample = "sample"
	if p != nil {
		p.Note("An address with a password goes into a file below secrets/. A reference stays: ${NAME} of the environment, or file:PATH.")
	}
	ask(&s.Ledger, terminal.Question{Text: "Ledger: sqlite:FILE or postgres://user@host/database", Proposal: defaultSiteLedger})
	ask(&s.Redis, terminal.Question{Text: "Redis: embedded, or redis://host:6379/0", Proposal: config.Embedded})
	ask(&s.Source, terminal.Question{Text: "WMS database: postgres://…, mysql://…, sqlserver://…, oracle://…, sqlite:FILE, or sample", Proposal: sample})
	if s.Source == sample {
		s.Source, f.sample = "sqlite:"+scaffold.SampleFile, true
	}
	drivers := []string{"postgres", "mysql", "sqlserver", "oracle", "sqlite"}
	s.Driver = cmp.Or(s.Driver, scaffold.DriverOf(s.Source))
	if s.Driver == "" && p == nil {
		return usage("--driver is needed: the address of the source is a reference or has an unknown scheme; one of %s", strings.Join(drivers, ", "))
	}
	ask(&s.Driver, terminal.Question{Text: "Kind of the WMS database", Choices: drivers, Check: oneOf(drivers, "driver")})
	ask(&s.Warehouse, terminal.Question{Text: "Warehouse whose notices role:keeper gets; * is all", Proposal: "*"})
	languages := []string{scaffold.English, scaffold.Chinese}
	ask(&s.Language, terminal.Question{Text: "Language of names and notices", Proposal: scaffold.English, Choices: languages, Check: oneOf(languages, "language")})
	if err == nil && !slices.Contains(languages, s.Language) {
		return usage("--language: %w", oneOf(languages, "language")(s.Language))
	}
	return err
}

func (f *initFlags) siteFiles() ([]scaffold.File, error) {
	files, err := f.site.Files()
	if err != nil {
		return nil, usage("%w", err)
	}
	file, secrets, err := f.site.Config()
	return slices.Concat([]scaffold.File{file}, files, secrets), err
}

// firstRule makes the first rule in the same way as the command rules new.
func (c initCommands) firstRule(ctx context.Context, w *siteWriter, f *initFlags, p *terminal.Prompt) (*authoring.NewRule, error) {
	cfg, err := c.lazyConfig()
	if err != nil {
		return nil, err
	}
	maker, err := c.services.OpenRuleMaker(ctx, cfg, "wms")
	if err != nil {
		return nil, err
	}
	rule, err := c.ruleFiles(ctx, w, f, p, maker)
	return rule, errors.Join(siteError(err), maker.Close())
}

func (c initCommands) ruleFiles(ctx context.Context, w *siteWriter, f *initFlags, p *terminal.Prompt, maker *authoring.RuleMaker) (*authoring.NewRule, error) {
	f.language, f.first = f.site.Language, true
	if f.site.Warehouse != "*" {
		f.place = strconv.Quote(f.site.Warehouse)
	}
	if f.table == "" && p == nil {
		table, err := maker.Suitable(ctx)
		if err != nil {
			return nil, err
		}
		f.table = table
	}
	rule, files, sound, err := ruleCommands(c).draft(ctx, &wizard{newFlags: &f.newFlags, prompt: p, maker: maker})
	if err != nil {
		return nil, err
	}
	if !sound {
		return nil, errors.New("nothing was written: the rule would not run")
	}
	root, err := filepath.Abs(w.dir)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		path, err := filepath.Rel(root, file.Path)
		if err != nil {
			return nil, err
		}
		if err := w.write(scaffold.File{Path: path, Text: file.Text}); err != nil {
			return nil, err
		}
	}
	return rule, nil
}

// siteWriter writes the files of a new site into its folder.
type siteWriter struct {
	dir     string
	written []string // Relative to the folder.
	made    []string // Folders, the outer ones first.
}

// refuse returns an error that names the files of the site that exist already.
func (w *siteWriter) refuse(files []scaffold.File, sample bool) error {
	var paths, there []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	if sample {
		paths = append(paths, scaffold.SampleFile)
	}
	for _, path := range paths {
		if _, err := os.Lstat(filepath.Join(w.dir, path)); err == nil {
			there = append(there, filepath.Join(w.dir, path))
		}
	}
	if len(there) > 0 {
		return usage("nothing was written, because init replaces no file: %s is there already; name another folder", strings.Join(there, ", "))
	}
	return nil
}

// mkdir makes a folder and the missing folders above it.
func (w *siteWriter) mkdir(dir string, mode fs.FileMode) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if above := filepath.Dir(dir); above != dir {
		if err := w.mkdir(above, 0o755); err != nil {
			return err
		}
	}
	w.made = append(w.made, dir)
	return os.Mkdir(dir, mode)
}

func (w *siteWriter) write(f scaffold.File) error {
	path := filepath.Join(w.dir, f.Path)
	folder, mode := fs.FileMode(0o755), fs.FileMode(0o644)
	if f.Secret {
		folder, mode = 0o700, 0o600
	}
	if err := w.mkdir(filepath.Dir(path), folder); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, os.ErrExist) {
		return usage("%s is there already; name another folder", path)
	}
	if err != nil {
		return err
	}
	w.written = append(w.written, f.Path)
	_, err = file.Write(f.Text)
	return errors.Join(err, file.Close())
}

// subscribe writes the configuration again, with a first subscription to the type.
func (w *siteWriter) subscribe(s *scaffold.Site, typ string) error {
	s.Type = typ
	file, _, err := s.Config()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.dir, file.Path), file.Text, 0o644) //nolint:gosec // secrets are in files of their own
}

// undo removes the written files, and the folders that were made. A folder with other files stays.
func (w *siteWriter) undo() {
	for _, path := range w.written {
		_ = os.Remove(filepath.Join(w.dir, path)) // The caller gets the error that led here.
	}
	for _, dir := range slices.Backward(w.made) {
		_ = os.Remove(dir)
	}
}
