package operate

import (
	"tallyman/internal/api"
	"tallyman/internal/wire"
	"tallyman/rules/catalog"
	"tallyman/rules/strictyaml"
)

func newTypeForm(t *catalog.Type) wire.TypeForm {
	form := wire.TypeForm{
		Code: t.Code, ID: t.ID, Name: t.Name, Names: t.Names, Category: t.Category, Retention: strictyaml.FormatDuration(t.Retention),
	}
	if len(t.Fields) > 0 {
		form.Fields = make(wire.FieldsForm, len(t.Fields))
		for name, f := range t.Fields {
			form.Fields[name] = wire.FieldForm{Type: string(f.Type), Required: f.Required}
		}
	}
	return form
}

// parseType checks what the schema of the body cannot, as the loader of a catalogue file does.
func parseType(f *wire.TypeForm) (catalog.Type, *wire.Problem) {
	t := catalog.Type{Code: f.Code, ID: f.ID, Name: f.Name, Names: f.Names, Category: f.Category, Retention: catalog.DefaultRetention}
	if f.Retention != "" {
		var err error
		if t.Retention, err = strictyaml.ParseDuration(f.Retention); err != nil {
			return t, api.InvalidBody([]wire.Fault{{Location: "body.retention", Message: err.Error()}})
		}
	}
	if len(f.Fields) > 0 {
		t.Fields = make(map[string]catalog.Field, len(f.Fields))
		for name, field := range f.Fields {
			t.Fields[name] = catalog.Field{Type: catalog.FieldKind(field.Type), Required: field.Required}
		}
	}
	var faults []wire.Fault
	for _, fault := range t.Validate() {
		faults = append(faults, wire.Fault{Location: "body." + fault.Field, Message: fault.Message + ": " + fault.Hint})
	}
	if len(faults) > 0 {
		return t, api.InvalidBody(faults)
	}
	return t, nil
}
