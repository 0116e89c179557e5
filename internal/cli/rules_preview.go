package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/engine/trial/preview"
	"tallyman/internal/authoring"
	"tallyman/internal/cli/terminal"
	"tallyman/internal/config"
	"tallyman/internal/notice"
)

// previewFlags are the flags of rules preview.
type previewFlags struct {
	authoring.PreviewOptions
	scope  string
	record string
	mask   []string
	force  bool
}

func (c ruleCommands) preview() *cobra.Command {
	var f previewFlags
	cmd := c.withConfig(&cobra.Command{
		Use:   "preview RULE",
		Short: "Run a rule now and show what it would do; writes nothing",
		Long: `Run a rule's probe now, read-only. The command shows the rows, which of them meet the condition and why the others do not, the
state that each finding would enter, the notices as they would look, and who would get each notice through which sink.

Nothing is written. The findings are those of the configured ledger, which the command opens for reading, also beside a running
node. If no ledger is in reach, the rule runs as if for the first time, and the output says so.

--record writes the run as a test for "tallyman rules test"; --mask hides values that must not stand in the test.`,
		Example: `  tallyman rules preview negative-bin-stock --scope 119240
  tallyman rules preview negative-bin-stock --scope 119240 --at=-1h
  tallyman rules preview negative-bin-stock --scope 119240 --record stock_test.yaml --mask sku,bin_code`,
		Args: takes("RULE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Rule = args[0]
			if cmd.Flags().Changed("scope") {
				f.Scope = &f.scope
			}
			return c.previewRule(cmd, &f)
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&f.scope, "scope", "", "the scope; required if the rule has several")
	flags.StringVar(&f.At, "at", "", "the firing's due time: RFC 3339, local in the rule's timezone, or a duration such as -1h (default now)")
	flags.StringVar(&f.Source, "source", "", "a configured source to run on instead of the rule's own")
	flags.StringArrayVar(&f.Paths, "rules", nil, "a rule file or folder instead of the configuration's rules.paths; may be repeated")
	flags.IntVar(&f.Limit, "rows", 20, "how many rows, findings and notices are shown; 0 = all")
	flags.StringVar(&f.record, "record", "", "write the run as a rule test to this file")
	flags.StringSliceVar(&f.mask, "mask", nil, "columns whose values must not stand in the recorded file, separated by commas")
	flags.BoolVar(&f.force, "force", false, "let --record replace a file")
	return cmd
}

func (c ruleCommands) previewRule(cmd *cobra.Command, f *previewFlags) error {
	switch {
	case f.Limit < 0:
		return usage("--rows takes 0 or more")
	case len(f.mask) > 0 && f.record == "":
		return usage("--mask works with --record only")
	case f.record != "" && !f.force && exists(f.record):
		return usage("%s is there already; --force replaces it", f.record)
	}
	cfg, err := c.lazyConfig()
	if err != nil {
		return err
	}
	p, err := c.services.PreviewRule(cmd.Context(), cfg, f.PreviewOptions)
	if err != nil {
		return err
	}
	if err := c.print(p.Report, func(w io.Writer) { writePreview(w, c.width(), p.Report) }); err != nil {
		return err
	}
	if f.record != "" {
		if err := c.record(cmd.Context(), cfg, p, f); err != nil {
			return err
		}
	}
	if p.Report.Error != "" {
		return found()
	}
	return nil
}

// record writes the run as a rule test.
func (c ruleCommands) record(ctx context.Context, cfg *config.Config, p *preview.Preview, f *previewFlags) error {
	r, err := p.Record(ctx, preview.RecordOptions{Path: f.record, Types: cfg.Types.Path, Mask: f.mask})
	if err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	if err := os.WriteFile(f.record, r.YAML, 0o644); err != nil { //nolint:gosec // rule tests are files that teams share
		return fmt.Errorf("--record: %w", err)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(c.Err, "note: %s\n", n)
	}
	fmt.Fprintf(c.Err, "recorded in %s; run it with: tallyman rules test %s\n", f.record, f.record)
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// notices writes the notices that the run would make, with their recipients.
func (t *previewText) notices() {
	for _, n := range t.r.Notices {
		t.notice("Notice", n)
	}
	t.more(t.r.LeftOut.Notices, "notice")
	for _, n := range t.r.Later {
		t.notice("If it lasts", n)
	}
	t.more(t.r.LeftOut.Later, "notice")
}

func (t *previewText) notice(when string, n preview.Notice) {
	modal := ""
	if n.Modal == "popup" {
		modal = ", popup"
	}
	t.Line("")
	t.Wrap(when+": ", fmt.Sprintf("%s, %s, warehouse %s, priority %d%s%s", n.Status, n.Type, n.Warehouse, n.Priority, modal, standsFor(n.Count)))
	t.Wrap("  ", n.Title)
	if n.Body != "" {
		t.Wrap("  ", n.Body)
	}
	t.translations(n)
	if len(n.Data) > 0 {
		t.Wrap("  data ", fields(n.Data))
	}
	t.Wrap("  key  ", terminal.JSONLine(n.Key))
	if n.Known {
		t.Line("  has a notice: the ledger has the notice, and no second notice follows")
	}
	if n.Silenced != "" {
		t.Wrap("  ", "held back now: "+n.Silenced)
	}
	for _, d := range n.To {
		t.destination(d)
	}
}

func standsFor(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(", stands for %d findings", n)
}

func (t *previewText) translations(n preview.Notice) {
	var langs []string
	for lang, text := range n.Texts {
		if text.Title != n.Title || text.Body != n.Body {
			langs = append(langs, lang)
		}
	}
	slices.Sort(langs)
	for _, lang := range langs {
		text := n.Texts[lang]
		t.Wrap("  ", lang+": "+text.Title)
		if text.Body != "" && text.Body != n.Body {
			t.Wrap("  "+strings.Repeat(" ", len(lang)+2), text.Body)
		}
	}
}

func fields(data notice.DataForm) string {
	parts := make([]string, len(data))
	for i, f := range data {
		value := "NULL"
		if f.Value != nil {
			value = terminal.OneLine(fmt.Sprint(f.Value))
		}
		parts[i] = f.Name + "=" + value
	}
	return strings.Join(parts, " ")
}

func (t *previewText) destination(d preview.Destination) {
	sink := d.Sink
	if d.How != "" {
		sink += " " + d.How
	}
	switch {
	case len(d.Recipients) > 0:
		t.Wrap("  to   ", sink+": "+strings.Join(d.Recipients, ", ")+suffix(d.Note))
	case d.Note == "nobody is subscribed":
		t.Line("  to   %s: NOBODY is subscribed", sink)
	default:
		t.Wrap("  to   ", sink+suffix(d.Note))
	}
}

func suffix(note string) string {
	if note == "" {
		return ""
	}
	return " (" + note + ")"
}
