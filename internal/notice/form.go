package notice

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"maps"
	"slices"
	"strings"
	"time"
)

// Form is a notice as clients get it, in JSON and in XML, with the same names in the same order.
type Form struct {
	XMLName    xml.Name  `json:"-" xml:"notice"`
	ID         string    `json:"id" xml:"id" doc:"the same for every delivery of this notice"`
	Type       string    `json:"type" xml:"type" doc:"code in the type catalogue"`
	TypeID     int64     `json:"typeId" xml:"typeId" doc:"number in the type catalogue"`
	Warehouse  string    `json:"warehouse" xml:"warehouse"`
	Rule       string    `json:"rule" xml:"rule" doc:"empty when a business system sent it"`
	Scope      string    `json:"scope" xml:"scope"`
	Key        string    `json:"key" xml:"key" doc:"what the finding is about, a JSON array"`
	Episode    string    `json:"episode" xml:"episode" doc:"identifies the episode of a finding, or the request that sent the notice; compare it, do not parse it"`
	Status     Status    `json:"status" xml:"status" enum:"firing,resolved,event,sent"`
	Priority   int       `json:"priority" xml:"priority" minimum:"1" maximum:"5" doc:"5 is the highest"`
	Order      string    `json:"order,omitempty" xml:"order,omitempty" doc:"order of the items that queues make from the notice, within the priority; the lowest is served first; absent: none was given"`
	Modal      string    `json:"modal" xml:"modal" enum:"silent,popup"`
	Title      string    `json:"title" xml:"title"`
	Body       string    `json:"body" xml:"body"`
	Data       DataForm  `json:"data" xml:"data" doc:"the typed fields; decimals and times are strings"`
	Labels     LabelForm `json:"labels" xml:"labels"`
	Count      int       `json:"count" xml:"count" doc:"number of findings that the notice reports"`
	CreatedAt  time.Time `json:"createdAt" xml:"createdAt"`
	CreateTime int64     `json:"createTime" xml:"createTime" doc:"createdAt in ms since 1970"`
	ExpireTime int64     `json:"expireTime" xml:"expireTime" doc:"seconds of life"`
	ExpiresAt  time.Time `json:"expiresAt" xml:"expiresAt"`
}

// ViewForm is a notice as one reader gets it.
type ViewForm struct {
	Form
	Read  bool `json:"read" xml:"read"`
	Acked bool `json:"acked" xml:"acked"`
}

// Form returns the notice in the form for clients.
func (n *Notice) Form() Form {
	return Form{
		ID: n.ID, Type: n.Type, TypeID: n.TypeID, Warehouse: n.Warehouse, Rule: n.Rule, Scope: n.Scope, Key: n.Key,
		Episode: n.Episode, Status: n.Status, Priority: n.Priority, Order: n.Order, Modal: n.Modal, Title: n.Title, Body: n.Body,
		Data: DataForm(n.Data), Labels: LabelForm(n.Labels), Count: n.Count,
		CreatedAt: n.CreatedAt.UTC(), CreateTime: n.CreatedAt.UnixMilli(),
		ExpireTime: int64(n.ExpiresAt.Sub(n.CreatedAt) / time.Second), ExpiresAt: n.ExpiresAt.UTC(),
	}
}

// Form returns the notice in the form for this reader.
func (v View) Form() ViewForm {
	return ViewForm{Form: v.Notice.Form(), Read: v.Read, Acked: v.Acked}
}

// MarshalXML writes the form for clients.
func (n *Notice) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	return e.EncodeElement(n.Form(), named(start))
}

// MarshalXML writes the form for this reader.
func (v View) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	return e.EncodeElement(v.Form(), named(start))
}

// encode does not escape < and &. The outer encoder decides about that.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// named returns the element <notice>, whatever the Go type is called.
func named(start xml.StartElement) xml.StartElement {
	start.Name = xml.Name{Local: "notice"}
	return start
}

// DataForm writes the typed fields as one object, in their order.
type DataForm []Field

// LabelForm writes the labels as one object, in the order of their names.
type LabelForm map[string]string

const xsi = "http://www.w3.org/2001/XMLSchema-instance"

// MarshalJSON writes {"bin":"A-01",…}.
func (d DataForm) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b) // one encoder for all fields: a notice is encoded for each webhook and each page
	e.SetEscapeHTML(false)
	put := func(v any, next byte) error {
		if err := e.Encode(v); err != nil {
			return err
		}
		b.Bytes()[b.Len()-1] = next // replaces the newline that Encode appends
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

// MarshalXML writes <data><bin>A-01</bin>…</data>. A null is an element with xsi:nil="true".
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

// MarshalJSON writes {} for no labels.
func (l LabelForm) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("{}"), nil
	}
	return encode(map[string]string(l))
}

// MarshalXML writes <labels><label name="area">replenishment</label>…</labels>. A label's name is an attribute,
// because XML may not allow it as an element.
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

// encodeField writes an element with that name. A name that XML does not allow becomes an attribute of <field>, so
// that the document stays well-formed.
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

// isXMLName tells whether the name can be the name of an element without a namespace. XML reserves names that begin
// with xml.
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
