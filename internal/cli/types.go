package cli

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/api/view"
	"tallyman/internal/cli/terminal"
	"tallyman/internal/strictjson"
	"tallyman/internal/wire"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
)

// typeCommands are the commands about the type catalogue.
type typeCommands struct{ *command }

func (c typeCommands) types() *cobra.Command {
	return group("types", "The catalogue of types, and the texts of their notices", c.list(), c.preview())
}

func (c typeCommands) list() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "list",
		Short:   "List the catalogue of types",
		Example: "  tallyman types list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd.Context(), c.command, http.MethodGet, "/types", nil, func(w io.Writer, form *wire.TypesForm) {
				writeTypes(w, c.width(), form.Types)
			})
		},
	})
}

func writeTypes(w io.Writer, width int, list []wire.TypeForm) {
	if len(list) == 0 {
		fmt.Fprintln(w, "The catalogue is empty.")
		return
	}
	header := []string{"TYPE", "ID", "CATEGORY", "RETENTION", "NAME"}
	rows := make([][]string, len(list))
	for i := range list {
		t := &list[i]
		rows[i] = []string{t.Code, strconv.FormatInt(t.ID, 10), orDash(t.Category), t.Retention, t.Name}
	}
	terminal.Spread(w, width, header, rows, header[:1])
}

func (c typeCommands) preview() *cobra.Command {
	var data, lang, file string
	cmd := c.withServer(&cobra.Command{
		Use:   "preview TYPE",
		Short: "Show the texts and the sinks of a notice of a type, for a sender that gives only the data",
		Long: `Show the texts of a notice of a type in each language, and its priority, modal, expires, labels and sinks, for a sender that gives only the data.
The server makes the notice as for a real request, but does not send the notice.

With --file the command takes the type from a catalogue file. The file does not come into force.`,
		Example: `  tallyman types preview COUNT_DIFF --data '{"bin": "A-01", "sku": "4711", "counted": 3, "book": 5}'
  tallyman types preview COUNT_DIFF --data '{"bin": "A-01", "sku": "4711", "counted": 3, "book": 5}' --lang zh --file configs/types.yaml`,
		Args: takes("TYPE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			form := wire.PreviewTypeForm{}
			if err := strictjson.Unmarshal([]byte(data), &form.Data); err != nil {
				return usage(`--data takes a JSON object such as {"bin": "A-01"}: %v`, err)
			}
			if file != "" {
				draft, err := draftOf(file, args[0])
				if err != nil {
					return err
				}
				form.Type = draft
			}
			var shown wire.TypePreviewForm
			if _, err := c.client().ask(cmd.Context(), http.MethodPost, "/types/"+url.PathEscape(args[0])+"/preview", form, &shown); err != nil {
				return err
			}
			if err := keepLanguage(&shown, lang); err != nil {
				return err
			}
			return c.print(shown, func(w io.Writer) { writeTypePreview(w, c.width(), &shown) })
		},
	})
	cmd.Flags().StringVar(&data, "data", "{}", "the data of the notice, a JSON object")
	cmd.Flags().StringVar(&lang, "lang", "", "only in this language, such as zh")
	cmd.Flags().StringVar(&file, "file", "", "a catalogue file that has the type")
	return cmd
}

// draftOf reads a type from a catalogue file.
func draftOf(file, code string) (*wire.TypeForm, error) {
	types, problems := catalog.Load(file)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	t, ok := types[types.Code(code)]
	if !ok {
		return nil, fmt.Errorf("%s has no type %q; %s", file, code, problem.Nearest(code, types.Codes(), "types"))
	}
	return new(view.NewTypeForm(&t)), nil
}

// keepLanguage removes the texts of all languages but one. If lang is empty, it keeps all languages.
func keepLanguage(p *wire.TypePreviewForm, lang string) error {
	if lang == "" {
		return nil
	}
	i := slices.IndexFunc(p.Texts, func(t wire.TranslationForm) bool { return t.Language == lang })
	if i < 0 {
		var known []string
		for _, t := range p.Texts[1:] {
			known = append(known, t.Language)
		}
		return fmt.Errorf("the type %s has no words in %q; %s", p.Type, lang, problem.Nearest(lang, known, "languages"))
	}
	p.Texts = p.Texts[i : i+1]
	return nil
}

// writeTypePreview writes the texts by language, and the sinks and settings of the notice.
func writeTypePreview(w io.Writer, width int, p *wire.TypePreviewForm) {
	for _, t := range p.Texts {
		language := t.Language
		if language == "" {
			language = "any language"
		}
		terminal.Wrap(w, width, language+": ", terminal.OneLine(t.Title))
		for line := range strings.Lines(t.Body) {
			terminal.Wrap(w, width, "  ", terminal.OneLine(strings.TrimRight(line, "\n")))
		}
	}
	var labels, sinks []string
	for _, name := range slices.Sorted(maps.Keys(p.Labels)) {
		labels = append(labels, name+"="+p.Labels[name])
	}
	for i := range p.Deliver {
		e, _ := view.NewEntry(&p.Deliver[i]) // The server has checked the entry, so there is no error.
		sinks = append(sinks, e.String())
	}
	section(w, len("priority"), [][2]string{
		{"type", p.Type},
		{"priority", strconv.Itoa(p.Priority)},
		{"modal", p.Modal},
		{"expires", p.Expires},
		{"labels", terminal.OneLine(strings.Join(labels, ", "))},
		{"deliver", terminal.OneLine(strings.Join(sinks, "; "))},
	})
}
