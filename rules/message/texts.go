package message

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tallyman/rules/jsonschema"
	"tallyman/rules/strictyaml"
)

// Texts are templates by language; the key "" is the text without one. A file may write one text alone.
type Texts map[string]string

var language = regexp.MustCompile(`^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$`)

// IsLanguage tells whether the text is the code of a language, as zh or pt-BR.
func IsLanguage(s string) bool { return language.MatchString(s) }

// DecodeYAML implements strictyaml.Decodable.
func (t *Texts) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	if n.Kind == strictyaml.Scalar {
		if s, ok := d.Text(name, n); ok {
			*t = Texts{"": s}
		}
		return
	}
	if n.Kind == strictyaml.Sequence {
		d.Fail(n, strictyaml.CodeType, name+" takes a text, or a map of texts by language, found a list", "")
		return
	}
	m := map[string]string{}
	d.Value(name, n, &m)
	for _, f := range n.Fields {
		if !IsLanguage(f.Name) {
			d.Fail(f.Key, strictyaml.CodeUnknown, fmt.Sprintf("%q in %s is no language", f.Name, name), "a code such as en, zh or pt-BR")
		}
	}
	*t = m
}

// JSONSchema implements jsonschema.Schemer.
func (*Texts) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: jsonschema.Types{"string", "object"}, MinProperties: 1, PropertyNames: &jsonschema.Schema{Pattern: language.String()},
		AdditionalProperties: &jsonschema.Schema{Type: jsonschema.Types{"string"}},
	}
}

// Text is the words of a notice in one language.
type Text struct {
	Title string
	Body  string
}

// Bounds are the templates of a title or a body by language.
type Bounds map[string]*Bound

// Words are the titles and bodies of a notice in all their languages. They are not safe for concurrent use.
type Words struct {
	list     []wording
	fallback string // the language whose text is that without a language too; "" = that one has its own
}

// wording is the words in one language; nil is a text that there is not.
type wording struct {
	lang        string
	title, body *Bound
}

// NewWords puts titles and bodies together: each language of either has both.
func NewWords(titles, bodies Bounds) Words {
	var w Words
	langs := map[string]bool{"": true}
	for _, b := range []Bounds{titles, bodies} {
		for lang := range b {
			langs[lang] = true
		}
	}
	if lang := titles.pick(""); lang != "" && (len(bodies) == 0 || bodies.pick("") == lang) {
		delete(langs, "") // the same words: rendered once
		w.fallback = lang
	}
	for _, lang := range slices.Sorted(maps.Keys(langs)) {
		w.list = append(w.list, wording{lang: lang, title: titles.own(lang), body: bodies.own(lang)})
	}
	return w
}

// pick chooses the language whose text stands for lang: itself, the text without a language, English, or the
// first in the order of the codes; lang where there is no text at all.
func (b Bounds) pick(lang string) string {
	for _, l := range append([]string{lang, "", "en"}, slices.Sorted(maps.Keys(b))...) {
		if _, ok := b[l]; ok {
			return l
		}
	}
	return lang
}

// own returns a Bound for the language, of its own: a Bound holds the row being rendered. nil where there is no text.
func (b Bounds) own(lang string) *Bound {
	if t := b[b.pick(lang)]; t != nil {
		return t.Clone()
	}
	return nil
}

// Clone returns Words for another goroutine.
func (w Words) Clone() Words {
	w.list = slices.Clone(w.list)
	for i := range w.list {
		for _, b := range []**Bound{&w.list[i].title, &w.list[i].body} {
			if *b != nil {
				*b = (*b).Clone()
			}
		}
	}
	return w
}

// Render writes the words in all languages, each title and body by the function that knows its rows. The text without a language is always
// there. A title is one line.
func (w Words) Render(title, body func(*Bound) (string, error)) (map[string]Text, error) {
	texts := make(map[string]Text, len(w.list)+1)
	for _, l := range w.list {
		var t Text
		if l.title != nil {
			text, err := title(l.title)
			if err != nil {
				return nil, fmt.Errorf("title: %w", err)
			}
			t.Title = strings.Join(strings.Fields(text), " ")
		}
		if l.body != nil {
			text, err := body(l.body)
			if err != nil {
				return nil, fmt.Errorf("body: %w", err)
			}
			t.Body = strings.TrimSpace(text)
		}
		texts[l.lang] = t
	}
	if w.fallback != "" {
		texts[""] = texts[w.fallback]
	}
	return texts, nil
}
