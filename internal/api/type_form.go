package api

import (
	"encoding/xml"
	"maps"
	"net/http"
	"slices"

	"tallyman/rules/catalog"
	"tallyman/rules/strictyaml"
)

// typeForm is an entry of the catalogue as the API speaks it.
type typeForm struct {
	XMLName   xml.Name   `json:"-" xml:"type"`
	Code      string     `json:"code" xml:"code" pattern:"^[A-Z][A-Z0-9_]{0,63}$" doc:"unique; rules and subscriptions name it" example:"REP_NOTICE"`
	ID        int64      `json:"id" xml:"id" minimum:"1" doc:"unique; the number that the WMS knows the type by" example:"124719"`
	Name      string     `json:"name" xml:"name" minLength:"1" maxLength:"200"`
	Names     namesForm  `json:"names,omitempty" xml:"names,omitempty" doc:"the name by language" example:"{\"zh\":\"补货通知\"}"`
	Category  string     `json:"category,omitempty" xml:"category,omitempty" maxLength:"64"`
	Retention string     `json:"retention,omitempty" xml:"retention" doc:"how long its notices live unless a rule says otherwise, in s, m, h, d; 72h by default" example:"72h"`
	Fields    fieldsForm `json:"fields,omitempty" xml:"fields,omitempty" doc:"the typed data of its notices"`
}

// namesForm is the name by language; in XML <name language=> in the order of the languages.
type namesForm map[string]string

// fieldsForm is the fields by name; in XML <field name= type= required=> in the order of the names.
type fieldsForm map[string]fieldForm

type fieldForm struct {
	Type     string `json:"type" xml:"type,attr" enum:"string,int,decimal,bool,time"`
	Required bool   `json:"required,omitempty" xml:"required,attr"`
}

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

// MarshalXML writes the fields one by one.
func (f fieldsForm) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	type named struct {
		Name string `xml:"name,attr"`
		fieldForm
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

func newTypeForm(t *catalog.Type) typeForm {
	form := typeForm{
		Code: t.Code, ID: t.ID, Name: t.Name, Names: t.Names, Category: t.Category, Retention: strictyaml.FormatDuration(t.Retention),
	}
	if len(t.Fields) > 0 {
		form.Fields = make(fieldsForm, len(t.Fields))
		for name, f := range t.Fields {
			form.Fields[name] = fieldForm{Type: string(f.Type), Required: f.Required}
		}
	}
	return form
}

// parse checks what the schema of the body cannot, as the loader of a catalogue file does.
func (f *typeForm) parse() (catalog.Type, *Problem) {
	t := catalog.Type{Code: f.Code, ID: f.ID, Name: f.Name, Names: f.Names, Category: f.Category, Retention: catalog.DefaultRetention}
	if f.Retention != "" {
		var err error
		if t.Retention, err = strictyaml.ParseDuration(f.Retention); err != nil {
			return t, invalidBody([]Fault{{Location: "body.retention", Message: err.Error()}})
		}
	}
	if len(f.Fields) > 0 {
		t.Fields = make(map[string]catalog.Field, len(f.Fields))
		for name, field := range f.Fields {
			t.Fields[name] = catalog.Field{Type: catalog.FieldKind(field.Type), Required: field.Required}
		}
	}
	var faults []Fault
	for _, fault := range t.Validate() {
		faults = append(faults, Fault{Location: "body." + fault.Field, Message: fault.Message + ": " + fault.Hint})
	}
	if len(faults) > 0 {
		return t, invalidBody(faults)
	}
	return t, nil
}

// invalidBody is the problem of a body that is well-formed but not right.
func invalidBody(faults []Fault) *Problem {
	p := newProblem(http.StatusUnprocessableEntity, CodeInvalidBody, faults[0].Location+": "+faults[0].Message)
	p.Errors = faults
	return p
}
