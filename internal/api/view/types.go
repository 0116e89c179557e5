package view

import (
	"cmp"
	"fmt"
	"time"

	"tallyman/internal/wire"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/strictyaml"
)

// NewTypeForm converts a type.
func NewTypeForm(t *catalog.Type) wire.TypeForm {
	form := wire.TypeForm{
		Code: t.Code, ID: t.ID, Name: t.Name, Names: t.Names, Category: t.Category, Retention: strictyaml.FormatDuration(t.Retention),
		TypeDefaultsForm: wire.TypeDefaultsForm{
			Title: wire.WordsForm(t.Title), Body: wire.WordsForm(t.Body), Priority: t.Priority, Modal: t.Modal, Labels: t.Labels,
		},
	}
	if len(t.Fields) > 0 {
		form.Fields = make(wire.FieldsForm, len(t.Fields))
		for name, f := range t.Fields {
			form.Fields[name] = wire.FieldForm{Type: string(f.Type), Required: f.Required}
		}
	}
	for i := range t.Deliver {
		form.Deliver = append(form.Deliver, newTypeDeliver(&t.Deliver[i]))
	}
	return form
}

func newTypeDeliver(e *deliver.Entry) wire.TypeDeliverForm {
	form := wire.TypeDeliverForm{Sink: e.Sink, Strategy: string(e.Strategy), Retry: e.Retry, Unless: string(e.Unless)}
	if e.Delay != 0 {
		form.Delay = strictyaml.FormatDuration(e.Delay)
	}
	if e.Within != 0 {
		form.Within = strictyaml.FormatDuration(e.Within)
	}
	return form
}

// ParseType parses a type in a body. at is the place of the type in the body, such as "body.". ParseType makes the
// checks that the schema cannot make, with the same rules as the loader of a catalogue file. ParseType also checks the
// type against the sinks of the site.
func ParseType(at string, f *wire.TypeForm, sinks deliver.Sinks) (catalog.Type, []wire.Fault) {
	r := typeReader{at: at}
	t := r.read(f)
	if len(r.faults) > 0 {
		return t, r.faults
	}
	r.check(t.Validate())
	if len(r.faults) == 0 {
		r.check(t.CheckSinks(sinks))
	}
	return t, r.faults
}

// typeReader parses a type and collects its faults.
type typeReader struct {
	at     string
	faults []wire.Fault
}

func (r *typeReader) fail(field, message string) {
	r.faults = append(r.faults, wire.Fault{Location: r.at + field, Message: message})
}

func (r *typeReader) read(f *wire.TypeForm) catalog.Type {
	t := catalog.Type{
		Code: f.Code, ID: f.ID, Name: f.Name, Names: f.Names, Category: f.Category, Retention: catalog.DefaultRetention,
		Defaults: catalog.Defaults{Title: f.Title.Texts(), Body: f.Body.Texts(), Priority: f.Priority, Modal: f.Modal, Labels: f.Labels},
	}
	switch {
	case f.Retention != "" && f.Expires != "":
		r.fail("expires", "expires and retention are two words for how long a notice lives: keep one")
	case f.Retention != "":
		t.Retention = r.span("retention", f.Retention)
	case f.Expires != "":
		t.Retention = r.span("expires", f.Expires)
	}
	if len(f.Fields) > 0 {
		t.Fields = make(map[string]catalog.Field, len(f.Fields))
		for name, field := range f.Fields {
			t.Fields[name] = catalog.Field{Type: catalog.FieldKind(field.Type), Required: field.Required}
		}
	}
	for i := range f.Deliver {
		e, err := NewEntry(&f.Deliver[i])
		if err != nil {
			r.fail("deliver"+deliver.Field(i, "sink"), err.Error())
		}
		t.Deliver = append(t.Deliver, e)
	}
	return t
}

// NewEntry parses an entry of the list deliver.
func NewEntry(f *wire.TypeDeliverForm) (deliver.Entry, error) {
	e := deliver.Entry{Sink: f.Sink, Strategy: deliver.StrategyOf(f.Strategy), Retry: f.Retry, Unless: deliver.Unless(f.Unless)}
	var delayErr, withinErr error
	if f.Delay != "" {
		e.Delay, delayErr = strictyaml.ParseDuration(f.Delay)
	}
	if f.Within != "" {
		e.Within, withinErr = strictyaml.ParseDuration(f.Within)
	}
	return e, cmp.Or(delayErr, withinErr)
}

func (r *typeReader) span(field, text string) time.Duration {
	d, err := strictyaml.ParseDuration(text)
	if err != nil {
		r.fail(field, err.Error())
	}
	return d
}

func (r *typeReader) check(faults []catalog.Fault) {
	for _, f := range faults {
		message := f.Message
		if f.Offset > 0 {
			message = fmt.Sprintf("character %d: %s", f.Offset+1, message)
		}
		if f.Hint != "" {
			message += ": " + f.Hint
		}
		r.fail(f.Field, message)
	}
}
