package notice

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"maps"
	"slices"
	"strings"
)

// DataForm writes the typed fields as one object, in their order.
type DataForm []Field

// LabelForm writes the labels as one object, in the order of their names.
type LabelForm map[string]string

const xsi = "http://www.w3.org/2001/XMLSchema-instance"

// MarshalJSON writes {"bin":"A-01",…}.
func (d DataForm) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b) // one for all, since a notice is encoded for each webhook and each page
	e.SetEscapeHTML(false)
	put := func(v any, next byte) error {
		if err := e.Encode(v); err != nil {
			return err
		}
		b.Bytes()[b.Len()-1] = next // in the place of the line's end
		return nil
	}
	b.WriteByte('{')
	for i, f := range d {
		if err := put(f.Name, ':'); err != nil {
			return nil, err
		}
		next := byte(',')
		if i == len(d)-1 {
			next = '}'
		}
		if err := put(f.Value, next); err != nil {
			return nil, err
		}
	}
	if len(d) == 0 {
		b.WriteByte('}')
	}
	return b.Bytes(), nil
}

// MarshalXML writes <data><bin>A-01</bin>…</data>. Null is an element with xsi:nil="true".
func (d DataForm) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	if err := e.EncodeToken(start); err != nil {
		return err
	}
	for _, f := range d {
		if err := encodeField(e, f.Name, f.Value); err != nil {
			return err
		}
	}
	return e.EncodeToken(start.End())
}

// MarshalJSON writes {} where there are none.
func (l LabelForm) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("{}"), nil
	}
	return encode(map[string]string(l))
}

// MarshalXML writes <labels><label name="area">replenishment</label>…</labels>, whatever a label is called.
func (l LabelForm) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	if err := e.EncodeToken(start); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(l)) {
		label := xml.StartElement{Name: xml.Name{Local: "label"}, Attr: []xml.Attr{{Name: xml.Name{Local: "name"}, Value: name}}}
		if err := e.EncodeElement(l[name], label); err != nil {
			return err
		}
	}
	return e.EncodeToken(start.End())
}

// encodeField writes an element of that name. A name that XML does not allow goes into an attribute of <field>, so that the
// document stays well-formed whatever a field is called.
func encodeField(e *xml.Encoder, name string, value any) error {
	start := xml.StartElement{Name: xml.Name{Local: name}}
	if !isXMLName(name) {
		start = xml.StartElement{
			Name: xml.Name{Local: "field"}, Attr: []xml.Attr{{Name: xml.Name{Local: "name"}, Value: name}},
		}
	}
	if value == nil {
		start.Attr = append(start.Attr,
			xml.Attr{Name: xml.Name{Local: "xmlns:xsi"}, Value: xsi},
			xml.Attr{Name: xml.Name{Local: "xsi:nil"}, Value: "true"})
		value = ""
	}
	return e.EncodeElement(value, start)
}

// isXMLName tells whether the name can be an element's without a namespace; names that begin with xml are reserved.
func isXMLName(name string) bool {
	if name == "" || len(name) >= 3 && strings.EqualFold(name[:3], "xml") {
		return false
	}
	for i, c := range []byte(name) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c != '-' && c != '.' && (c < '0' || c > '9')) {
			return false
		}
	}
	return true
}
