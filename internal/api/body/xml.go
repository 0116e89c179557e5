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

// deepestXML is how deep elements may lie in each other.
const deepestXML = 32

// The namespaces of xml:lang and of xsi:nil.
const (
	xmlNamespace = "http://www.w3.org/XML/1998/namespace"
	instance     = "http://www.w3.org/2001/XMLSchema-instance"
)

// FromXML writes a body in XML as the JSON that the schema wants, for Check and for decoders. The name of the root and of the elements of a list says
// nothing; every other element is the member of that name. Text is what the schema has there: a text as it stands, or a number or a boolean without the
// white space around it. Where the schema takes anything, an element with elements is an object, names that come again make a list, and all else is a text. An element with
// xsi:nil="true" is null. In a map, the attribute name stands for the name of the element, as in answers. What does not fit the schema is written as it is, so that Check says where. The fault is about the syntax of the XML.
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
	return &Fault{At: "body", Message: "this is no XML: " + err.Error(), Syntax: true}
}

// xmlReader goes through a body and writes JSON.
type xmlReader struct {
	dec *xml.Decoder
	out []byte
}

// token is the next one that is no comment and no instruction.
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

// end looks that nothing follows the root.
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

// value writes the element that has begun.
func (c *xmlReader) value(s *Schema, isNull bool, depth int) error {
	if depth > deepestXML {
		return errors.New("elements lie more than 32 deep in each other")
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

// attributes tells whether the element is null. In a map, name="…" is the name of a member that no element can be called. Other attributes say nothing
// here, so they are refused, but for those that libraries write by themselves.
func (*xmlReader) attributes(start *xml.StartElement, inMap bool) (isNull bool, err error) {
	for _, a := range start.Attr {
		switch {
		case a.Name.Space == "xmlns" || a.Name.Local == "xmlns" || a.Name.Space == xmlNamespace:
		case a.Name.Space == instance && a.Name.Local == "nil":
			isNull = a.Value == "true" || a.Value == "1"
		case a.Name.Space == instance: // xsi:type, xsi:schemaLocation
		case a.Name.Space == "" && a.Name.Local == "name" && inMap:
			start.Name.Local = a.Value
		default:
			return false, errors.New("element " + start.Name.Local + " has the attribute " + a.Name.Local + ": members are elements")
		}
	}
	return isNull, nil
}

// xmlNode is an element whose children are written, one after the other, at the end of the output.
type xmlNode struct {
	schema   *Schema
	text     []byte
	children []xmlChild
}

type xmlChild struct {
	name     string
	from, to int // of its value in the output
}

// isMap tells whether members have any names.
func (n *xmlNode) isMap() bool {
	return n.schema.kind == "" || n.schema.kind == huma.TypeObject && n.schema.others != nil
}

// schemaOf is the schema of a child. A child that the schema does not know is anything.
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

// close puts the value of the element in the place of the values of its children.
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

// object writes members. Names that come again are left to Check where the schema has members; where it takes anything, they make a list.
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

// leaf is the value of an element without elements.
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
	if err != nil { // text that is no UTF-8, which the decoder refuses before
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
