package body

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"
)

// deepestXML is the maximum depth of elements.
const deepestXML = 32

// The namespaces of xml:lang and of xsi:nil.
const (
	xmlNamespace = "http://www.w3.org/XML/1998/namespace"
	instance     = "http://www.w3.org/2001/XMLSchema-instance"
)

// FromXML converts a body in XML to the JSON that the schema expects, for Check and for decoders.
//
// The name of the root and the names of elements in a list are ignored. Any other element is the member with its name.
// A text stays as it is; a number or a boolean loses the white space around it. Where the schema allows any value, an
// element with child elements is an object, repeated names make a list, and everything else is a text. An element with
// xsi:nil="true" is null. In a map, the attribute name replaces the name of the element, as in answers. A value that
// does not fit the schema is written unchanged, and Check reports its place. A fault of FromXML is always about the
// syntax of the XML.
func (s *Schema) FromXML(src []byte) ([]byte, *Fault) {
	c := xmlReader{dec: xml.NewDecoder(bytes.NewReader(src))}
	c.dec.CharsetReader = func(charset string, _ io.Reader) (io.Reader, error) {
		return nil, errors.New("its encoding is " + charset + ": send it in UTF-8")
	}
	for {
		token, err := c.token()
		if err != nil {
			return nil, syntaxFault(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		isNull, err := c.attributes(&start, false)
		if err == nil {
			err = c.value(s, isNull, 1)
		}
		if err != nil {
			return nil, syntaxFault(err)
		}
		break
	}
	if err := c.end(); err != nil {
		return nil, syntaxFault(err)
	}
	return c.out, nil
}

func syntaxFault(err error) *Fault {
	if errors.Is(err, io.EOF) {
		err = errors.New("there is no element")
	}
	return &Fault{At: "body", Message: "the body is not XML: " + err.Error(), Syntax: true}
}

// xmlReader reads XML and writes JSON.
type xmlReader struct {
	dec *xml.Decoder
	out []byte
}

// token returns the next token that is not a comment or a processing instruction.
func (c *xmlReader) token() (xml.Token, error) {
	for {
		token, err := c.dec.Token()
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.Comment, xml.ProcInst:
		case xml.Directive:
			return nil, errors.New("a directive such as a DOCTYPE is not read: leave it out")
		default:
			return token, nil
		}
	}
}

// end checks that nothing follows the root element.
func (c *xmlReader) end() error {
	for {
		token, err := c.token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if text, ok := token.(xml.CharData); !ok || !isBlank(text) {
			return errors.New("something follows the root element")
		}
	}
}

// value writes the value of the element whose start was read.
func (c *xmlReader) value(s *Schema, isNull bool, depth int) error {
	if depth > deepestXML {
		return errors.New("elements are nested more than 32 deep")
	}
	node := &xmlNode{schema: s}
	for {
		token, err := c.token()
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.CharData:
			node.text = append(node.text, token...)
		case xml.StartElement:
			isNull, err := c.attributes(&token, node.isMap())
			if err != nil {
				return err
			}
			child := xmlChild{token.Name.Local, len(c.out), 0}
			if err := c.value(node.schemaOf(child.name), isNull, depth+1); err != nil {
				return err
			}
			child.to = len(c.out)
			node.children = append(node.children, child)
		case xml.EndElement:
			return c.close(node, isNull)
		}
	}
}

// attributes reads the attributes of an element, and tells whether the element is null. In a map, name="…" sets the
// name of a member that cannot be the name of an element. Attributes that libraries write by themselves are ignored.
// Other attributes have no meaning here and are refused.
func (*xmlReader) attributes(start *xml.StartElement, inMap bool) (isNull bool, err error) {
	for _, a := range start.Attr {
		switch {
		case a.Name.Space == "xmlns" || a.Name.Local == "xmlns" || a.Name.Space == xmlNamespace:
		case a.Name.Space == instance && a.Name.Local == "nil":
			isNull = a.Value == "true" || a.Value == "1"
		case a.Name.Space == instance: // xsi:type or xsi:schemaLocation.
		case a.Name.Space == "" && a.Name.Local == "name" && inMap:
			start.Name.Local = a.Value
		default:
			return false, errors.New("element " + start.Name.Local + " has the attribute " + a.Name.Local + ": members are elements")
		}
	}
	return isNull, nil
}

// xmlNode is an element. The values of its children are at the end of the output, one after the other.
type xmlNode struct {
	schema   *Schema
	text     []byte
	children []xmlChild
}

type xmlChild struct {
	name     string
	from, to int // Range of the value in the output.
}

// isMap tells whether members can have any name.
func (n *xmlNode) isMap() bool {
	return n.schema.kind == "" || n.schema.kind == huma.TypeObject && n.schema.others != nil
}

// schemaOf returns the schema of a child. An unknown child can be anything; Check refuses it later.
func (n *xmlNode) schemaOf(name string) *Schema {
	switch n.schema.kind {
	case huma.TypeArray:
		return n.schema.element
	case huma.TypeObject:
		if m, ok := n.schema.members[name]; ok {
			return m.schema
		}
		if n.schema.others != nil {
			return n.schema.others
		}
	}
	return anything
}

// close replaces the values of the children at the end of the output by the value of the element.
func (c *xmlReader) close(n *xmlNode, isNull bool) error {
	if len(n.children) > 0 && !isBlank(n.text) {
		return errors.New("text stands beside elements: " + strings.TrimSpace(string(n.text[:min(len(n.text), 40)])))
	}
	if len(n.children) == 0 {
		c.out = append(c.out, n.leaf(isNull)...)
		return nil
	}
	from := n.children[0].from
	values := bytes.Clone(c.out[from:])
	for i := range n.children {
		n.children[i].from -= from
		n.children[i].to -= from
	}
	c.out = c.out[:from]
	if n.schema.kind == huma.TypeArray {
		c.out = append(c.out, '[')
		for i, child := range n.children {
			c.out = append(comma(c.out, i), values[child.from:child.to]...)
		}
		c.out = append(c.out, ']')
		return nil
	}
	return c.object(n, values)
}

// object writes the members of an object. If the schema has members, repeated names stay, and Check refuses them. If
// the schema allows any value, repeated names make a list.
func (c *xmlReader) object(n *xmlNode, values []byte) error {
	again := map[string][]xmlChild{}
	if n.schema.kind == "" {
		for _, child := range n.children {
			again[child.name] = append(again[child.name], child)
		}
	}
	c.out = append(c.out, '{')
	written := 0
	for _, child := range n.children {
		list := again[child.name]
		if len(list) > 1 && list[0] != child {
			continue
		}
		name, err := jsontext.AppendQuote(comma(c.out, written), child.name)
		if err != nil {
			return err
		}
		c.out = append(name, ':')
		written++
		if len(list) < 2 {
			c.out = append(c.out, values[child.from:child.to]...)
			continue
		}
		c.out = append(c.out, '[')
		for i, one := range list {
			c.out = append(comma(c.out, i), values[one.from:one.to]...)
		}
		c.out = append(c.out, ']')
	}
	c.out = append(c.out, '}')
	return nil
}

func comma(out []byte, written int) []byte {
	if written > 0 {
		return append(out, ',')
	}
	return out
}

// leaf returns the value of an element without child elements.
func (n *xmlNode) leaf(isNull bool) []byte {
	bare := bytes.TrimSpace(n.text)
	switch kind := n.schema.kind; {
	case isNull:
		return []byte("null")
	case kind == huma.TypeObject && len(bare) == 0:
		return []byte("{}")
	case kind == huma.TypeArray && len(bare) == 0:
		return []byte("[]")
	case (kind == huma.TypeInteger || kind == huma.TypeNumber || kind == huma.TypeBoolean) && isBare(bare):
		return bare
	}
	quoted, err := jsontext.AppendQuote(nil, n.text)
	if err != nil { // Never happens: the decoder refuses text that is not UTF-8.
		return []byte(`""`)
	}
	return quoted
}

// isBare tells whether the text is a number or a boolean of JSON.
func isBare(text []byte) bool {
	v := jsontext.Value(text)
	if !v.IsValid() {
		return false
	}
	kind := v.Kind()
	return kind == jsontext.KindNumber || kind == jsontext.KindTrue || kind == jsontext.KindFalse
}

func isBlank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }
