package send

import (
	"maps"
	"slices"
	"strings"
	"time"

	"tallyman/internal/notice"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
	"tallyman/rules/catalog"
	"tallyman/rules/message"
	"tallyman/rules/row"
)

// words sets title, body and translations. A text that the sender leaves out comes from the templates of the type, if
// the notice has all required fields. Otherwise the text comes from the name of the type and a list of the data.
func (s *noticeMaker) words(at string, n *notice.Notice, f *wire.SendNoticeForm, typ *catalog.Type, data *row.Row) {
	n.Title, n.Body = s.title(at+"title", f.Title), s.body(at+"body", f.Body)
	texts := make(map[string]notice.Text, len(f.Texts))
	for _, lang := range slices.Sorted(maps.Keys(f.Texts)) {
		where := at + "texts." + clip(lang)
		if !catalog.IsLanguage(lang) {
			s.add(wire.CodeInvalidBody, where, "this is not a language; write a code such as en, zh or pt-BR")
		}
		t := f.Texts[lang]
		texts[lang] = notice.Text{Title: s.title(where+".title", t.Title), Body: s.body(where+".body", t.Body)}
	}
	var titles, bodies map[string]string
	if hasRequired(typ, data) {
		titles, bodies = s.said(at, typ, data)
	}
	if n.Title == "" && n.Body == "" && len(f.Texts) == 0 && len(f.Data) == 0 && len(typ.Title) == 0 {
		s.add(wire.CodeInvalidBody, at+"data", "the notice says nothing: give it data, or a title")
	}
	if titles == nil {
		titles = map[string]string{}
		maps.Copy(titles, typ.Names)
		titles[""] = typ.Name
	}
	if bodies == nil {
		bodies = map[string]string{"": bodyOf(n.Data)}
	}
	fill(&n.Title, titles, texts, func(t *notice.Text) *string { return &t.Title })
	fill(&n.Body, bodies, texts, func(t *notice.Text) *string { return &t.Body })
	if len(texts) > 0 {
		n.Texts = texts
	}
}

// hasRequired tells whether the notice has all required fields. A notice with words may lack them.
func hasRequired(typ *catalog.Type, data *row.Row) bool {
	for i, c := range data.Columns {
		if typ.Fields[c.Name].Required && data.Values[i].IsNull() {
			return false
		}
	}
	return true
}

// fill sets a title or body that the sender has left out, and then also its missing translations.
func fill(own *string, said map[string]string, texts map[string]notice.Text, part func(*notice.Text) *string) {
	if *own != "" {
		return
	}
	*own = said[""]
	for lang, text := range said {
		t := texts[lang]
		if p := part(&t); lang != "" && *p == "" {
			*p = text
			texts[lang] = t
		}
	}
}

// typeWords are the templates of a type, bound to its fields; nil = the type has none.
type typeWords struct{ titles, bodies *message.Words }

// bind binds the templates of a type, once for all notices of a request.
func (s *noticeMaker) bind(at string, typ *catalog.Type) typeWords {
	if w, ok := s.bound[typ.Code]; ok {
		return w
	}
	var w typeWords
	titles, titleFaults := typ.BindTitle(time.UTC)
	bodies, bodyFaults := typ.BindBody(time.UTC)
	for _, f := range slices.Concat(titleFaults, bodyFaults) { // Never happens: the catalogue refuses such a type.
		s.add(wire.CodeInvalidBody, at+"type", f.Field+" of the type "+typ.Code+": "+f.Message)
	}
	if len(titles) > 0 {
		w.titles = new(message.NewWords(titles, nil))
	}
	if len(bodies) > 0 {
		w.bodies = new(message.NewWords(nil, bodies))
	}
	s.bound[typ.Code] = w
	return w
}

// said returns the titles and bodies of the type by language, or nil if the type has none.
func (s *noticeMaker) said(at string, typ *catalog.Type, data *row.Row) (titles, bodies map[string]string) {
	w := s.bind(at, typ)
	texts := func(words *message.Words, part func(message.Text) string) map[string]string {
		if words == nil {
			return nil
		}
		render := func(b *message.Bound) (string, error) { return b.Render(data) }
		rendered, err := words.Render(render, render)
		if err != nil {
			s.add(wire.CodeInvalidBody, at+"type", "the words of the type "+typ.Code+": "+err.Error())
		}
		out := make(map[string]string, len(rendered))
		for lang, t := range rendered {
			out[lang] = part(t)
		}
		return out
	}
	return texts(w.titles, func(t message.Text) string { return cut(t.Title, notice.MaxTitle) }),
		texts(w.bodies, func(t message.Text) string { return cut(t.Body, notice.MaxBody) })
}

// cut shortens a text to this many characters if its data made it longer, and marks the cut.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	return string(r[:most-1]) + "…"
}

// title joins a text to one line.
func (s *noticeMaker) title(at, text string) string {
	text = strings.Join(strings.Fields(text), " ")
	s.checkText(at, text, policy.Line)
	return text
}

func (s *noticeMaker) body(at, text string) string {
	s.checkText(at, text, policy.Lines)
	return strings.TrimSpace(text)
}
