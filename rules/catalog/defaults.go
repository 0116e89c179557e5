package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/notice"
	"tallyman/rules/deliver"
	"tallyman/rules/message"
	"tallyman/rules/row"
	"tallyman/rules/strictyaml"
)

// Defaults are the texts, priority, modal, labels and deliveries of a type's notices. They count where neither the rule
// nor the sender says anything else. Retention of the type says how long a notice lives.
type Defaults struct {
	Title    message.Texts     `json:"title,omitempty" yaml:"title" text:"lines"` // Templates over the fields.
	Body     message.Texts     `json:"body,omitempty" yaml:"body" text:"lines"`
	Priority int               `json:"priority,omitempty" yaml:"priority" min:"1" max:"5"` // 0 means notice.DefaultPriority.
	Modal    string            `json:"modal,omitempty" yaml:"modal" enum:"silent,popup"`   // Empty means silent.
	Labels   map[string]string `json:"labels,omitempty" yaml:"labels"`
	// Deliver is nil where the type names no sinks. A notice that is sent over the API then goes to the inbox. A rule
	// must then name its sinks itself.
	Deliver []deliver.Entry `json:"deliver,omitempty" yaml:"deliver"`
}

// The ways in which a client shows a notice.
const (
	ModalSilent = "silent"
	ModalPopup  = "popup"
)

// MergeLabels returns the labels of a notice together with the labels of the type. Where both have a label, the
// notice's own value wins.
func (d *Defaults) MergeLabels(own map[string]string) map[string]string {
	if len(d.Labels) == 0 {
		return own
	}
	merged := maps.Clone(d.Labels)
	maps.Copy(merged, own)
	return merged
}

// kindOf maps the type of a field to the kind of its values.
var kindOf = map[FieldKind]row.Kind{String: row.Text, Int: row.Int, Decimal: row.Decimal, Bool: row.Bool, Time: row.Time}

// Columns returns the fields as columns for the templates of the type, in the order of FieldNames.
func (t Type) Columns() []row.Column {
	names := t.FieldNames()
	columns := make([]row.Column, len(names))
	for i, name := range names {
		columns[i] = row.Column{Name: name, Kind: kindOf[t.Fields[name].Type], Nullable: !t.Fields[name].Required}
	}
	return columns
}

// BindTitle binds the title templates to the fields of the type. Rendering writes dates in the zone. Validate reports
// the same faults.
func (t Type) BindTitle(zone *time.Location) (message.Bounds, []Fault) {
	return t.bind("title", t.Title, zone)
}

// BindBody is BindTitle for the body templates.
func (t Type) BindBody(zone *time.Location) (message.Bounds, []Fault) {
	return t.bind("body", t.Body, zone)
}

func (t Type) bind(field string, texts message.Texts, zone *time.Location) (message.Bounds, []Fault) {
	bound := message.Bounds{}
	var l []Fault
	if len(texts) > notice.MaxLanguages {
		l = append(l, Fault{Field: field, Code: strictyaml.CodeOutOfRange, Message: fmt.Sprintf("%s has %d languages, at most %d are allowed", field, len(texts), notice.MaxLanguages)})
	}
	for _, lang := range slices.Sorted(maps.Keys(texts)) {
		at := field
		if lang != "" {
			at += "." + lang
		}
		if lang != "" && !IsLanguage(lang) {
			l = append(l, Fault{Field: at, Code: CodeBadName, Message: fmt.Sprintf("%q is no language", lang), Hint: "a code such as en, zh or pt-BR"})
			continue
		}
		if strings.TrimSpace(texts[lang]) == "" {
			l = append(l, Fault{Field: at, Code: strictyaml.CodeMissing, Message: at + " is empty", Hint: "write the words, or leave it out"})
			continue
		}
		template, faults := message.Parse(texts[lang])
		if len(faults) == 0 {
			bound[lang], faults = template.BindFields(t.Columns(), zone)
		}
		for _, f := range faults {
			l = append(l, Fault{Field: at, Offset: f.Offset, Code: f.Code, Message: f.Message, Hint: f.Hint})
		}
	}
	return bound, l
}

// validateDefaults returns the faults of the defaults.
func (t Type) validateDefaults() []Fault {
	_, titles := t.BindTitle(time.UTC)
	_, bodies := t.BindBody(time.UTC)
	l := slices.Concat(titles, bodies)
	fail := func(field, code, message, hint string) {
		l = append(l, Fault{Field: field, Code: code, Message: message, Hint: hint})
	}
	if t.Priority != 0 && (t.Priority < notice.LowestPriority || t.Priority > notice.HighestPriority) {
		fail("priority", strictyaml.CodeOutOfRange, "the priority "+strconv.Itoa(t.Priority)+" is none of 1 (low) to 5 (high)", "leave it out for 3")
	}
	if t.Modal != "" && t.Modal != ModalSilent && t.Modal != ModalPopup {
		fail("modal", strictyaml.CodeEnum, fmt.Sprintf("there is no modal %q", t.Modal), "silent or popup")
	}
	for _, f := range notice.CheckLabels(t.Labels) {
		fail(f.At, strictyaml.CodeOutOfRange, f.At+": "+f.Message, "every notice carries all labels: use fewer or shorter ones")
	}
	return append(l, t.validateDeliver()...)
}

// validateDeliver checks deliver as far as that is possible without the sinks of the site.
func (t Type) validateDeliver() []Fault {
	l := inDeliver(deliver.Names(t.Deliver))
	for i := range t.Deliver {
		e := &t.Deliver[i]
		has := map[string]bool{"within": e.Within != 0, "delay": e.Delay != 0, "retry": e.Retry != 0, "unless": e.Unless != ""}
		faults := append(e.Beyond(), e.Faults(func(field string) bool { return has[field] }, true)...)
		for k := range faults {
			faults[k].Field = deliver.Field(i, faults[k].Field)
		}
		l = append(l, inDeliver(faults)...)
	}
	return l
}

// CheckSinks checks the type's deliver against the sinks of a site.
func (t Type) CheckSinks(sinks deliver.Sinks) []Fault {
	return inDeliver(sinks.Check(t.Deliver, deliver.Life{Span: t.Retention, Text: strictyaml.FormatDuration(t.Retention), Longer: "retention"}))
}

func inDeliver(faults []deliver.Fault) []Fault {
	l := make([]Fault, len(faults))
	for i, f := range faults {
		l[i] = Fault{Field: "deliver" + f.Field, Code: f.Code, Message: f.Message, Hint: f.Hint}
	}
	return l
}
