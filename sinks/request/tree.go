package request

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"tallyman/internal/settings"
	"tallyman/internal/text"
	"tallyman/rules/strictyaml"
	"tallyman/sinks/render"
)

// Tree is a value as a site writes it: maps, lists and single values, in their order. A text with {{ is a template.
type Tree struct {
	fields   []field
	items    []*Tree
	kind     strictyaml.Kind
	literal  any // a single value without a template: a text, an int64, a float64, a bool or nil
	template *render.Template
}

type field struct {
	name  string
	value *Tree
}

// Takes says what a tree may be.
func (t *Tree) Takes() string {
	return strictyaml.MapWords + ", whose values may be maps, lists and templates"
}

// DecodeYAML reads a value.
func (t *Tree) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	t.kind = n.Kind
	switch n.Kind {
	case strictyaml.Mapping:
		d.Faults(n)
		for _, f := range inFileOrder(n.Fields) {
			one := field{f.Name, &Tree{}}
			d.Entry(name, f, one.value)
			t.fields = append(t.fields, one)
		}
	case strictyaml.Sequence:
		for i, item := range n.Items {
			one := &Tree{}
			one.DecodeYAML(d, fmt.Sprintf("%s.%d", name, i), item)
			t.items = append(t.items, one)
		}
	default:
		t.scalar(d, name, n)
	}
}

// inFileOrder sorts the entries of a map as they stand in the file, because a service may want the elements of XML in a
// fixed order. Entries that come from an environment variable have no line, and are last.
func inFileOrder(fields []strictyaml.Field) []strictyaml.Field {
	line := func(f strictyaml.Field) int {
		if f.Key.Line == 0 {
			return math.MaxInt
		}
		return f.Key.Line
	}
	return slices.SortedStableFunc(slices.Values(fields), func(a, b strictyaml.Field) int {
		return cmp.Or(cmp.Compare(line(a), line(b)), cmp.Compare(a.Key.Col, b.Key.Col))
	})
}

func (t *Tree) scalar(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	isText := n.Origin != "" || n.Tag == "!!str"
	var ok bool
	if isText {
		t.literal, ok = lines(d, name, n)
	} else {
		t.literal, ok = d.Any(name, n)
	}
	if !ok {
		return
	}
	if words, _ := t.literal.(string); strings.Contains(words, "{{") {
		var err error
		if t.template, err = render.New(render.Text, name, words); err != nil {
			if d.IsResolved(n) {
				err = errors.New("the error is not shown, because the template contains references")
			}
			d.Fail(n, CodeTemplate, fmt.Sprintf("%s: the template cannot be read: %v", name, err), "docs/how-to/channels.md lists all names that a template may use")
		}
	}
}

// lines reads a text that may have line breaks.
func lines(d *strictyaml.Decoder, name string, n *strictyaml.Node) (string, bool) {
	s := n.Text
	if n.Origin == "" && d.Reader() != nil {
		var ok bool
		if s, ok = d.Expand(name, n); !ok {
			return "", false
		}
	}
	if fault := text.Check(s, text.Lines); fault != nil {
		d.Fail(n, text.Code, fmt.Sprintf("%s: %v", name, fault), "")
		return "", false
	}
	return s, true
}

// check runs every template on the sample. check reports a fault at the place of its template.
func (t *Tree) check(at settings.Section, sample any) {
	for _, f := range t.fields {
		f.value.check(at.In(f.name), sample)
		for i, item := range f.value.items {
			item.check(at.Item(f.name, i), sample)
		}
	}
	if t.template == nil {
		return
	}
	if err := t.template.Try(sample); err != nil {
		at.Fail(CodeTemplate, at.String()+": the template fails: "+err.Error(), "")
	} else if _, err := t.json(nil, sample); err != nil {
		at.Fail(CodeTemplate, at.String()+": "+err.Error(), "")
	}
}

// text returns a single value as a text.
func (t *Tree) text(view any) (string, error) {
	switch {
	case t.kind != strictyaml.Scalar:
		return "", errors.New("a single value is wanted")
	case t.template != nil:
		return t.template.Execute(view)
	case t.literal == nil:
		return "", nil
	default:
		return fmt.Sprint(t.literal), nil
	}
}

// json appends the value as JSON. A template that is only {{ json … }} stands for the value that it makes. Every other
// template makes a text.
func (t *Tree) json(out []byte, view any) ([]byte, error) {
	var err error
	switch {
	case t.kind == strictyaml.Mapping:
		out = append(out, '{')
		for i, f := range t.fields {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendJSON(out, f.name), ':')
			if out, err = f.value.json(out, view); err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
		}
		return append(out, '}'), nil
	case t.kind == strictyaml.Sequence:
		out = append(out, '[')
		for i, item := range t.items {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = item.json(out, view); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	case t.template == nil:
		return appendJSON(out, t.literal), nil
	}
	made, err := t.template.Execute(view)
	switch {
	case err != nil:
		return nil, err
	case !t.template.IsJSON():
		return appendJSON(out, made), nil
	case !json.Valid([]byte(made)):
		return nil, errors.New("the result of the template is not valid JSON")
	default:
		return append(out, made...), nil
	}
}

// appendJSON appends a value that can always be encoded.
func appendJSON(out []byte, v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) //nolint:errchkjson // texts, finite numbers, booleans and nil always encode
	return append(out, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// form returns the value in the encoding of forms and queries. The value is a map of single values, or of lists, which
// repeat the name.
func (t *Tree) form(view any) (string, error) {
	var out strings.Builder
	for _, f := range t.fields {
		values := f.value.items
		if f.value.kind != strictyaml.Sequence {
			values = []*Tree{f.value}
		}
		for _, value := range values {
			text, err := value.text(view)
			if err != nil {
				return "", fmt.Errorf("%s: %w", f.name, err)
			}
			if out.Len() > 0 {
				out.WriteByte('&')
			}
			out.WriteString(url.QueryEscape(f.name) + "=" + url.QueryEscape(text))
		}
	}
	return out.String(), nil
}

// isForm tells whether form can encode the value.
func (t *Tree) isForm() bool {
	if t.kind != strictyaml.Mapping {
		return false
	}
	for _, f := range t.fields {
		if f.value.kind == strictyaml.Mapping {
			return false
		}
		for _, item := range f.value.items {
			if item.kind != strictyaml.Scalar {
				return false
			}
		}
	}
	return true
}

// hasLists tells whether a value of the map is a list.
func (t *Tree) hasLists() bool {
	return slices.ContainsFunc(t.fields, func(f field) bool { return f.value.kind == strictyaml.Sequence })
}

// The names of members that do not become elements in XML.
const (
	attributeSign = "@"
	contentName   = "#text"
)

var xmlName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*(:[A-Za-z_][A-Za-z0-9_.-]*)?$`)

// xml writes the value as an element of that name. A list repeats the element. Members whose names begin with @ are its
// attributes, #text is its text, and every other member is an element inside it.
func (t *Tree) xml(out *bytes.Buffer, name string, view any) error {
	if t.kind == strictyaml.Sequence {
		for _, item := range t.items {
			if err := item.xml(out, name, view); err != nil {
				return err
			}
		}
		return nil
	}
	out.WriteString("<" + name)
	for _, f := range t.fields {
		if attribute, ok := strings.CutPrefix(f.name, attributeSign); ok {
			out.WriteString(" " + attribute + `="`)
			if err := f.value.xmlText(out, view); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			out.WriteByte('"')
		}
	}
	out.WriteByte('>')
	if t.kind == strictyaml.Scalar {
		if err := t.xmlText(out, view); err != nil {
			return err
		}
	}
	for _, f := range t.fields {
		var err error
		switch {
		case strings.HasPrefix(f.name, attributeSign):
		case f.name == contentName:
			err = f.value.xmlText(out, view)
		default:
			err = f.value.xml(out, f.name, view)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	out.WriteString("</" + name + ">")
	return nil
}

func (t *Tree) xmlText(out *bytes.Buffer, view any) error {
	text, err := t.text(view)
	if err != nil {
		return err
	}
	return xml.EscapeText(out, []byte(text))
}

// xmlFault says why the value cannot be the content of an element. xmlFault returns "" if it can.
func (t *Tree) xmlFault() string {
	for _, f := range t.fields {
		name, isAttribute := strings.CutPrefix(f.name, attributeSign)
		switch {
		case f.name == contentName || isAttribute:
			if f.value.kind != strictyaml.Scalar {
				return fmt.Sprintf("%.40q takes a single value", f.name)
			}
		case f.value.kind == strictyaml.Sequence:
			for _, item := range f.value.items {
				if item.kind == strictyaml.Sequence {
					return fmt.Sprintf("%.40q is a list of lists", f.name)
				}
			}
		}
		if f.name != contentName && !xmlName.MatchString(name) {
			return fmt.Sprintf("%.40q is no name of XML", f.name)
		}
		for _, item := range append(f.value.items, f.value) {
			if fault := item.xmlFault(); fault != "" {
				return fault
			}
		}
	}
	return ""
}
