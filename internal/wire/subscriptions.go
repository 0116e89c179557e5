package wire

import (
	"encoding/xml"
	"maps"
	"slices"
)

// SubscribersForm is a page of the address book.
type SubscribersForm struct {
	XMLName     xml.Name         `json:"-" xml:"subscribers"`
	Subscribers []SubscriberForm `json:"subscribers" xml:"subscriber" doc:"in the order of their ids" nullable:"false"`
	Cursor      string           `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"there are more: ask with it as after"`
}

// SubscriberForm is an entry of the address book.
type SubscriberForm struct {
	XMLName xml.Name `json:"-" xml:"subscriber"`
	ID      string   `json:"id" xml:"id" doc:"user:<id> or role:<id>" example:"user:ann"`
	SubscriberFields
}

// SubscriberFields are what the address book knows of a subscriber.
type SubscriberFields struct {
	Name     string   `json:"name,omitempty" xml:"name,omitempty" doc:"of the person or role, at most 200 characters" example:"Ann Lee"`
	Language string   `json:"language,omitempty" xml:"language,omitempty" doc:"of the texts that are pushed to it, as zh" example:"zh"`
	Mail     []string `json:"mail,omitempty" xml:"mail,omitempty" doc:"addresses, at most 50, with or without a name; a mail goes to all of them" example:"[\"Ann Lee <ann@example.com>\"]" nullable:"false"`
}

// SubscriptionsForm is a page of subscriptions.
type SubscriptionsForm struct {
	XMLName       xml.Name           `json:"-" xml:"subscriptions"`
	Subscriptions []SubscriptionForm `json:"subscriptions" xml:"subscription" doc:"in the order of type, warehouse, subscriber" nullable:"false"`
	Cursor        string             `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"there are more: ask with it as after"`
}

// SubscriptionForm is a subscription as the API speaks it.
type SubscriptionForm struct {
	XMLName    xml.Name `json:"-" xml:"subscription"`
	Type       string   `json:"type" xml:"type" doc:"code of a type in the catalogue" example:"REP_NOTICE"`
	Warehouse  string   `json:"warehouse" xml:"warehouse" doc:"a warehouse, or * for all" example:"*"`
	Subscriber string   `json:"subscriber" xml:"subscriber" doc:"user:<id> or role:<id>" example:"role:keeper"`
}

// ImportForm is a list of subscriptions to add.
type ImportForm struct {
	Subscriptions []SubscriptionForm `json:"subscriptions" maxItems:"10000" nullable:"false"`
}

// ImportedForm is what became of an import.
type ImportedForm struct {
	XMLName xml.Name `json:"-" xml:"imported"`
	Added   int      `json:"added" xml:"added" doc:"that were new"`
	Present int      `json:"present" xml:"present" doc:"that were there already"`
}

// TypesForm is the catalogue.
type TypesForm struct {
	XMLName xml.Name   `json:"-" xml:"types"`
	Types   []TypeForm `json:"types" xml:"type" doc:"in the order of their codes" nullable:"false"`
}

// TypeForm is an entry of the catalogue as the API speaks it.
type TypeForm struct {
	XMLName   xml.Name   `json:"-" xml:"type"`
	Code      string     `json:"code" xml:"code" pattern:"^[A-Z][A-Z0-9_]{0,63}$" doc:"unique; rules and subscriptions name it" example:"REP_NOTICE"`
	ID        int64      `json:"id" xml:"id" minimum:"1" doc:"unique; the number that the WMS knows the type by" example:"124719"`
	Name      string     `json:"name" xml:"name" minLength:"1" maxLength:"200"`
	Names     namesForm  `json:"names,omitempty" xml:"names,omitempty" doc:"the name by language" example:"{\"zh\":\"补货通知\"}"`
	Category  string     `json:"category,omitempty" xml:"category,omitempty" maxLength:"64"`
	Retention string     `json:"retention,omitempty" xml:"retention" doc:"how long its notices live unless a rule says otherwise, in s, m, h, d; 72h by default" example:"72h"`
	Fields    FieldsForm `json:"fields,omitempty" xml:"fields,omitempty" doc:"the typed data of its notices"`
}

// namesForm is the name by language; in XML <name language=> in the order of the languages.
type namesForm map[string]string

// MarshalXML writes the names one by one.
func (f namesForm) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	if err := e.EncodeToken(start); err != nil {
		return err
	}
	for _, language := range slices.Sorted(maps.Keys(f)) {
		name := xml.StartElement{Name: xml.Name{Local: "name"}, Attr: []xml.Attr{{Name: xml.Name{Local: "language"}, Value: language}}}
		if err := e.EncodeElement(f[language], name); err != nil {
			return err
		}
	}
	return e.EncodeToken(start.End())
}

// FieldsForm is the fields by name; in XML <field name= type= required=> in the order of the names.
type FieldsForm map[string]FieldForm

// MarshalXML writes the fields one by one.
func (f FieldsForm) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	type named struct {
		Name string `xml:"name,attr"`
		FieldForm
	}
	if err := e.EncodeToken(start); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if err := e.EncodeElement(named{name, f[name]}, xml.StartElement{Name: xml.Name{Local: "field"}}); err != nil {
			return err
		}
	}
	return e.EncodeToken(start.End())
}

// FieldForm is a field of a type's data.
type FieldForm struct {
	Type     string `json:"type" xml:"type,attr" enum:"string,int,decimal,bool,time"`
	Required bool   `json:"required,omitempty" xml:"required,attr"`
}
