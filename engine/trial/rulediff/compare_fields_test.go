package rulediff

import (
	"reflect"
	"testing"
	"time"

	"tallyman/rules"
	"tallyman/rules/deliver"
)

// Each changed field of a rule is reported, nested fields included.
func TestEveryFieldIsCompared(t *testing.T) {
	t.Parallel()
	full := func() *rules.Rule {
		r := &rules.Rule{Probe: rules.Probe{Watermark: &rules.Watermark{}}}
		fill(reflect.ValueOf(r).Elem(), 1)
		return r
	}
	var paths [][]int
	leaves(reflect.TypeFor[rules.Rule](), nil, &paths)
	if len(paths) < 40 {
		t.Fatalf("only %d fields", len(paths))
	}
	for _, path := range paths {
		r := full()
		v := reflect.ValueOf(r).Elem()
		name := ""
		for _, i := range path {
			if v.Kind() == reflect.Pointer {
				v = v.Elem()
			}
			name += "." + v.Type().Field(i).Name
			v = v.Field(i)
		}
		fill(v, 2)
		got := changes(full(), r)
		if identity[name[1:]] {
			if len(got) != 0 {
				t.Errorf("%s: %v", name, got)
			}
			continue
		}
		if len(got) == 0 || got[0].Old == got[0].New || got[0].Field == "" {
			t.Errorf("%s: %v", name, got)
		}
		if len(changes(full(), &rules.Rule{})) == 0 {
			t.Errorf("%s: nothing is lost", name)
		}
	}
}

// leaves collects the exported fields that are no structs.
func leaves(t reflect.Type, path []int, into *[][]int) {
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		here := append(append([]int{}, path...), i)
		typ := f.Type
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() == reflect.Struct && typ != reflect.TypeFor[rules.LookBack]() { // which is one text of a rule file
			leaves(typ, here, into)
			continue
		}
		*into = append(*into, here)
	}
}

// fill sets the value, and everything below it, to one made of n.
func fill(v reflect.Value, n int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(string(rune('a' + n)))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n) * int64(time.Second))
	case reflect.Bool:
		v.SetBool(n%2 == 0)
	case reflect.Interface:
		v.Set(reflect.ValueOf(int64(n)))
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n)
			}
		}
	case reflect.Slice:
		item := reflect.New(v.Type().Elem()).Elem()
		fill(item, n)
		v.Set(reflect.Append(reflect.MakeSlice(v.Type(), 0, 1), item))
	case reflect.Map:
		item := reflect.New(v.Type().Elem()).Elem()
		fill(item, n)
		m := reflect.MakeMap(v.Type())
		m.SetMapIndex(reflect.ValueOf("k"), item)
		v.Set(m)
	default:
		panic("a rule has a field of a kind that this test does not know: " + v.Kind().String())
	}
}

func TestFieldsAreNamedAsInARuleFile(t *testing.T) {
	t.Parallel()
	before := &rules.Rule{
		For: time.Hour, RunbookURL: "https://a", Key: []string{"wh_id", "bin"}, Deliver: []deliver.Entry{{Sink: "inbox"}},
		Notice: rules.Notice{Title: map[string]string{"": "A", "zh": "甲"}}, Probe: rules.Probe{SQL: "SELECT 1", Params: map[string]any{"n": int64(1)}},
	}
	after := &rules.Rule{
		For: 90 * time.Minute, Key: []string{"bin"}, Deliver: []deliver.Entry{{Sink: "inbox"}, {Sink: "sms", Strategy: deliver.Delayed, Delay: 10 * time.Minute, Unless: deliver.UnlessRead}},
		Notice: rules.Notice{Title: map[string]string{"": "B", "zh": "甲"}}, Probe: rules.Probe{SQL: "SELECT 1", Params: map[string]any{"n": nil}, MaxRows: 5, Watermark: &rules.Watermark{LookBack: &rules.LookBack{Time: 10 * time.Minute}}},
	}
	want := []Change{
		{"runbook_url", "https://a", ""},
		{"probe.params.n", "1", "null"},
		{"key", "[wh_id, bin]", "[bin]"},
		{"for", "1h", "1h30m"},
		{"notice.title", "A", "B"},
		{"deliver", "[{sink: inbox}]", "[{sink: inbox}, {sink: sms, strategy: delayed, delay: 10m, unless: read}]"},
		{"probe.max_rows", "", "5"},
		{"probe.watermark.look_back", "", "10m"},
	}
	if got := changes(before, after); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}
