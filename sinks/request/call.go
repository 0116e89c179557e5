package request

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tallyman/internal/settings"
	"tallyman/rules/strictyaml"
	"tallyman/sinks/render"
)

// Path is a path of a URL, cut into the parts between its slashes.
type Path []*Tree

// Takes says what a path may be.
func (p Path) Takes() string { return "a path that begins with /, without ? and #" }

// DecodeYAML reads a path.
func (p *Path) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	text, ok := d.Text(name, n)
	if !ok {
		return
	}
	rest, ok := strings.CutPrefix(text, "/")
	if !ok || strings.ContainsAny(rest, "?#") {
		d.Fail(n, CodePath, name+" is no path", "it begins with / and has neither ? nor #; write the part after ? under query")
		return
	}
	for _, part := range parts(rest) {
		one := &Tree{kind: strictyaml.Scalar, literal: part}
		if strings.Contains(part, "{{") {
			var err error
			if one.template, err = render.New(render.Text, name, part); err != nil {
				d.Fail(n, CodeTemplate, fmt.Sprintf("%s: the template cannot be read: %v", name, err), "docs/how-to/channels.md lists all names that a template may use")
				return
			}
		}
		*p = append(*p, one)
	}
}

// parts cuts a path at its slashes, but not at slashes within {{ }}.
func parts(s string) []string {
	var list []string
	begin, depth := 0, 0
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "{{"):
			depth++
		case strings.HasPrefix(s[i:], "}}"):
			depth--
		case s[i] == '/' && depth == 0:
			list, begin = append(list, s[begin:i]), i+1
		}
	}
	return append(list, s[begin:])
}

// bodies names the kinds of body that the template has. A call can have only one.
func (t *Template) bodies() []string {
	var list []string
	for name, tree := range map[string]*Tree{"json": &t.JSON, "form": &t.Form, "xml": &t.XML} {
		if tree.kind != 0 {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// CheckAt reports faults of the template. To find them, it runs the template on the sample.
func (t *Template) CheckAt(at settings.Section, sample any) {
	if list := t.bodies(); len(list) > 1 {
		at.Fail(CodeBody, at.String()+" has several bodies: "+strings.Join(list, ", "), "a call has one: keep one of them")
		return
	}
	for _, named := range []struct {
		name  string
		tree  *Tree
		takes string
		fits  bool
	}{
		{"query", &t.Query, "a map of single values, or of lists of them", t.Query.isForm()},
		{"headers", &t.Headers, "a map of single values", t.Headers.isForm() && !t.Headers.hasLists()},
		{"form", &t.Form, "a map of single values, or of lists of them", t.Form.isForm()},
	} {
		if named.tree.kind != 0 && !named.fits {
			where := at.In(named.name)
			where.Fail(CodeBody, where.String()+" takes "+named.takes, "")
			return
		}
	}
	for _, f := range t.Headers.fields {
		if fault, hint := settings.HeaderFault(f.name); fault != "" && http.CanonicalHeaderKey(f.name) != contentType {
			at.In("headers").In(f.name).FailName(settings.CodeHeader, at.In("headers").String()+": "+fault, hint)
		}
	}
	if fault := t.xmlFault(); fault != "" {
		where := at.In("xml")
		where.Fail(CodeBody, where.String()+": "+fault, `a map of one element, such as {message: {to: "{{ .Address }}"}}`)
		return
	}
	for _, named := range []struct {
		name string
		tree *Tree
	}{{"query", &t.Query}, {"headers", &t.Headers}, {"json", &t.JSON}, {"form", &t.Form}, {"xml", &t.XML}} {
		named.tree.check(at.In(named.name), sample)
	}
	for _, part := range t.Path {
		part.check(at.In("path"), sample)
	}
}

func (t *Template) xmlFault() string {
	if t.XML.kind == 0 {
		return ""
	}
	if t.XML.kind != strictyaml.Mapping || len(t.XML.fields) != 1 || t.XML.fields[0].value.kind == strictyaml.Sequence || strings.HasPrefix(t.XML.fields[0].name, attributeSign) ||
		t.XML.fields[0].name == contentName {
		return "it is no map of one element"
	}
	return t.XML.xmlFault()
}

// Call is a finished call.
type Call struct {
	Method string
	URL    *url.URL
	Header http.Header // the headers that this call adds to the common ones
	Body   []byte
}

const contentType = "Content-Type"

// Make makes the call from the data of the view. Make does not change address. It adds path and query to the end of a
// copy.
func (t *Template) Make(address *url.URL, view any) (*Call, error) {
	c := &Call{Method: t.Method, Header: http.Header{}}
	for _, step := range []struct {
		name string
		make func(*Template, any) error
	}{{"body", c.setBody}, {"headers", c.setHeaders}} {
		if err := step.make(t, view); err != nil {
			return nil, fmt.Errorf("the %s: %w", step.name, err)
		}
	}
	var err error
	if c.URL, err = t.Path.behind(address, view); err != nil {
		return nil, fmt.Errorf("the path: %w", err)
	}
	query, err := t.Query.form(view)
	if err != nil {
		return nil, fmt.Errorf("the query: %w", err)
	}
	if c.URL.RawQuery != "" && query != "" {
		query = "&" + query
	}
	c.URL.RawQuery += query
	return c, nil
}

func (c *Call) setBody(t *Template, view any) (err error) {
	switch {
	case t.JSON.kind != 0:
		c.Header.Set(contentType, "application/json")
		c.Body, err = t.JSON.json(nil, view)
	case t.Form.kind != 0:
		c.Header.Set(contentType, "application/x-www-form-urlencoded")
		var form string
		form, err = t.Form.form(view)
		c.Body = []byte(form)
	case t.XML.kind != 0:
		c.Header.Set(contentType, "application/xml; charset=utf-8")
		out := bytes.NewBufferString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
		err = t.XML.fields[0].value.xml(out, t.XML.fields[0].name, view)
		c.Body = out.Bytes()
	}
	return err
}

func (c *Call) setHeaders(t *Template, view any) error {
	for _, f := range t.Headers.fields {
		text, err := f.value.text(view)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		c.Header.Set(f.name, render.OneLine(text))
	}
	return nil
}

// behind adds the path to the end of the address. A part stays one part, whatever its template makes: slashes are
// escaped, and dots are refused.
func (p Path) behind(address *url.URL, view any) (*url.URL, error) {
	out := *address
	if len(p) == 0 {
		return &out, nil
	}
	path, escaped := strings.TrimSuffix(address.Path, "/"), strings.TrimSuffix(address.EscapedPath(), "/")
	for i, part := range p {
		text, err := part.text(view)
		if err != nil {
			return nil, err
		}
		if text == "." || text == ".." || text == "" && (part.template != nil || i < len(p)-1) {
			return nil, errors.New("a part is empty, or has dots only")
		}
		path, escaped = path+"/"+text, escaped+"/"+url.PathEscape(text)
	}
	out.Path, out.RawPath = path, escaped
	return &out, nil
}
