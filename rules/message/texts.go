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

// Texts are templates by language. The key "" has the text without a language. A file may write a single text in place
// of the map.
type Texts map[string]string

var language = regexp.MustCompile(`^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$`)

// IsLanguage tells whether the text is the code of a language, such as zh or pt-BR.
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

// Text is the title and body of a notice in one language.
type Text struct {
	Title string
	Body  string
}

// Bounds are the templates of a title or a body by language.
type Bounds map[string]*Bound

// Words are the templates of a notice's titles and bodies in all languages. They are not safe for concurrent use.
type Words struct {
	list     []wording
	fallback string // The language whose text is also the text without a language. Empty: list has that text.
}

// wording is the title and body in one language. A nil template means that there is no such text.
type wording struct {
	lang        string
	title, body *Bound
}

// NewWords combines titles and bodies. Each language that either of them has gets a title and a body.
func NewWords(titles, bodies Bounds) Words {
	var w Words
	langs := map[string]bool{"": true}
	for _, b := range []Bounds{titles, bodies} {
		for lang := range b {
			langs[lang] = true
		}
	}
	if lang := titles.pick(""); lang != "" && (len(bodies) == 0 || bodies.pick("") == lang) {
		delete(langs, "") // both texts are the same, so one rendering is enough
		w.fallback = lang
	}
	for _, lang := range slices.Sorted(maps.Keys(langs)) {
		w.list = append(w.list, wording{lang: lang, title: titles.own(lang), body: bodies.own(lang)})
	}
	return w
}

// pick chooses the language whose text serves for lang. The first of these with a text counts: lang itself, the text
// without a language, English, the other languages by their codes. pick returns lang where there is no text at all.
func (b Bounds) pick(lang string) string {
	for _, l := range append([]string{lang, "", "en"}, slices.Sorted(maps.Keys(b))...) {
		if _, ok := b[l]; ok {
			return l
		}
	}
	return lang
}

// own returns a Bound for the language, or nil where there is no text. It is a clone, because a Bound holds the row
// that it renders.
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

// Render renders the texts in all languages. The functions title and body render a single template with its rows. The
// result always has a text without a language. A title is one line.
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
