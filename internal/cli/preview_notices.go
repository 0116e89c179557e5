package cli

import (
	"fmt"
	"slices"
	"strings"

	"tallyman/engine/trial/preview"
	"tallyman/internal/cli/terminal"
	"tallyman/internal/notice"
)

// notices shows what would be said, and to whom.
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
	t.line("")
	terminal.Wrap(t, t.width, when+": ", fmt.Sprintf("%s, %s, warehouse %s, priority %d%s%s", n.Status, n.Type, n.Warehouse, n.Priority, modal, standsFor(n.Count)))
	terminal.Wrap(t, t.width, "  ", n.Title)
	if n.Body != "" {
		terminal.Wrap(t, t.width, "  ", n.Body)
	}
	t.translations(n)
	if len(n.Data) > 0 {
		terminal.Wrap(t, t.width, "  data ", fields(n.Data))
	}
	terminal.Wrap(t, t.width, "  key  ", terminal.JSONLine(n.Key))
	if n.Known {
		t.line("  told before: the ledger has it, and it is not told again")
	}
	if n.Silenced != "" {
		terminal.Wrap(t, t.width, "  ", "not told now: "+n.Silenced)
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
		terminal.Wrap(t, t.width, "  ", lang+": "+text.Title)
		if text.Body != "" && text.Body != n.Body {
			terminal.Wrap(t, t.width, "  "+strings.Repeat(" ", len(lang)+2), text.Body)
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
		terminal.Wrap(t, t.width, "  to   ", sink+": "+strings.Join(d.Recipients, ", ")+suffix(d.Note))
	case d.Note == "nobody is subscribed":
		t.line("  to   %s: NOBODY is subscribed", sink)
	default:
		terminal.Wrap(t, t.width, "  to   ", sink+suffix(d.Note))
	}
}

func suffix(note string) string {
	if note == "" {
		return ""
	}
	return " (" + note + ")"
}
