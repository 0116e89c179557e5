package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tallyman/internal/settings"
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
	"tallyman/sinks"
)

// Sinks are the settings of the sinks, keyed by name.
type Sinks map[string]sinks.Settings

// DecodeYAML reads each sink into the settings of its type.
func (m *Sinks) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	*m = Sinks{}
	if !d.Is(strictyaml.Mapping, name, n, "a map") {
		return
	}
	d.Faults(n)
	l, _ := d.Reader().(*loader)
	for _, f := range n.Fields {
		if !settings.IsName(f.Name) {
			d.Fail(f.Key, CodeName, badName(f.Name), nameHint)
		}
		if s := l.sink(d, name, f); s != nil {
			(*m)[f.Name] = s
		}
	}
}

// sink reads one sink. It returns nil where the type is wrong.
func (l *loader) sink(d *strictyaml.Decoder, name string, f strictyaml.Field) sinks.Settings {
	var typeName string
	if t := f.Value.Field("type"); t != nil && !t.Value.IsNull() {
		_ = d.Attempt(func() { d.Value("", t.Value, &typeName) }) // Problems of the type are reported below.
	}
	for _, typ := range l.types.Sinks {
		if typ.Name == typeName {
			s := typ.New()
			d.Entry(name, f, s)
			return s
		}
	}
	before := d.Count()
	d.Entry(name, f, &unknownSink{l})
	if d.Count() == before {
		l.wrongType(d, name+"."+f.Name, f, typeName)
	}
	return nil
}

// unknownSink accepts the fields of every type. So for a sink with a wrong type only the type is reported.
type unknownSink struct{ l *loader }

// DecodeYAML implements strictyaml.Decodable.
func (u *unknownSink) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	if !d.Is(strictyaml.Mapping, name, n, "a map of fields") {
		return
	}
	d.Faults(n)
	var known []string
	for _, typ := range u.l.types.Sinks {
		known = append(known, strictyaml.FieldNames(typ.New())...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for _, f := range n.Fields {
		switch {
		case !slices.Contains(known, f.Name):
			d.Unknown(name, f, known)
		case f.Name == "type":
			var typeName string
			d.Entry(name, f, &typeName)
		}
	}
}

func (l *loader) wrongType(d *strictyaml.Decoder, name string, f strictyaml.Field, typeName string) {
	t := f.Value.Field("type")
	if t == nil || typeName == "" {
		d.Fail(f.Key, strictyaml.CodeMissing, name+".type is missing", "")
		return
	}
	names := make([]string, len(l.types.Sinks))
	for i, typ := range l.types.Sinks {
		names[i] = typ.Name
	}
	hint := cmp.Or(problem.DidYouMean(typeName, names), "one of "+strings.Join(names, ", "))
	d.Fail(t.Value, strictyaml.CodeEnum, fmt.Sprintf("%s.type cannot be %q", name, typeName), hint)
}

// check checks the sinks together: a sink that names another sink must name a fitting one, and there may be one inbox.
func (m Sinks) check(at settings.Section) {
	first := ""
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if r, ok := m[name].(sinks.Referrer); ok && !at.In(name).IsBad() {
			r.CheckSinks(at.In(name), m)
		}
		switch {
		case m[name].Kind() != sinks.InboxKind:
		case first == "":
			first = name
		default:
			at.In(name).FailName(CodeInboxes, fmt.Sprintf("sinks.%s is a second inbox beside sinks.%s", name, first), "keep one: clients poll the inbox")
		}
	}
}

// leastSecret is the smallest length in bytes of a secret that is removed from other texts. Shorter texts occur in too
// many harmless texts.
const leastSecret = 4

// SecretTexts returns the secret texts of the sinks, and the parts of them that libraries and servers may repeat in
// errors. The longest come first, so that a secret that contains another one is removed as a whole.
func (m Sinks) SecretTexts() []string {
	var list []string
	for _, s := range m {
		list = append(list, s.SecretTexts()...)
	}
	list = slices.DeleteFunc(list, func(s string) bool { return len(s) < leastSecret })
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return slices.Compact(list)
}
