package rulediff

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"tallyman/rules"
	"tallyman/rules/strictyaml"
)

// Change is a field that differs. A field that a version does not have is "".
type Change struct {
	Field string `json:"field"` // as in a rule file: schedule.cron
	Old   string `json:"old"`
	New   string `json:"new"`
}

// changes compares two versions of a rule field by field, in the order of the fields.
func changes(before, after *rules.Rule) []Change {
	old, now := flatten(before), flatten(after)
	list := []Change{}
	add := func(name string) {
		if a, b := old.values[name], now.values[name]; a != b {
			list = append(list, Change{Field: name, Old: a, New: b})
		}
	}
	for _, name := range old.names {
		add(name)
	}
	for _, name := range now.names {
		if _, both := old.values[name]; !both {
			add(name)
		}
	}
	return list
}

// flatFields is a rule as a list of fields.
type flatFields struct {
	names  []string
	values map[string]string
}

// identity are the fields that say which rule it is and where it stands, not what it does.
var identity = map[string]bool{"ID": true, "Scope": true, "File": true, "Checksum": true}

func flatten(r *rules.Rule) flatFields {
	f := flatFields{values: map[string]string{}}
	v := reflect.ValueOf(*r)
	for i := range v.NumField() {
		if field := v.Type().Field(i); field.IsExported() && !identity[field.Name] {
			f.add(fileName(field.Name), v.Field(i))
		}
	}
	return f
}

// add adds a field, or those of a struct or map below it. What is not set is left out.
func (f *flatFields) add(name string, v reflect.Value) {
	switch {
	case v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			f.add(name, v.Elem())
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			f.add(name+"."+fileName(v.Type().Field(i).Name), v.Field(i))
		}
	case v.Kind() == reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			f.put(strings.TrimSuffix(name+"."+k.String(), "."), text(v.MapIndex(k)))
		}
	case v.IsZero() && v.Kind() != reflect.Bool:
	default:
		f.put(name, text(v))
	}
}

func (f *flatFields) put(name, value string) {
	f.names = append(f.names, name)
	f.values[name] = value
}

// text is a value as a rule file would have it.
func text(v reflect.Value) string {
	if v.Kind() == reflect.Interface {
		if v.IsNil() {
			return "null"
		}
		v = v.Elem()
	}
	if d, ok := reflect.TypeAssert[time.Duration](v); ok {
		return strictyaml.FormatDuration(d)
	}
	switch v.Kind() {
	case reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = text(v.Index(i))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case reflect.Struct:
		inner := flatFields{values: map[string]string{}}
		for i := range v.NumField() {
			inner.add(fileName(v.Type().Field(i).Name), v.Field(i))
		}
		items := make([]string, len(inner.names))
		for i, name := range inner.names {
			items[i] = name + ": " + inner.values[name]
		}
		return "{" + strings.Join(items, ", ") + "}"
	default:
		return fmt.Sprint(v.Interface())
	}
}

// fileName is what a rule file calls the field: RunbookURL is runbook_url.
func fileName(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		starts := i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if starts {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// fieldNames are those that the changes name, without what stands below them.
func fieldNames(list []Change) map[string]bool {
	names := map[string]bool{}
	for _, c := range list {
		first, _, _ := strings.Cut(c.Field, ".")
		names[first], names[c.Field] = true, true
	}
	return names
}
