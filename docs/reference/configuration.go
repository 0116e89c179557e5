package main

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"tallyman/internal/app"
	"tallyman/internal/config"
	"tallyman/rules/strictyaml"
	"tallyman/sinks"
)

const configurationHead = `# Configuration

This page is generated from the code. It lists every key of ` + "`tallyman.yaml`" + ` in the order of
[configs/tallyman.yaml](../../configs/tallyman.yaml), which shows the keys at work. Write ` + "`make generate`" + ` after a change.

- A key can be set in the file, by an environment variable, or by a flag. The flag wins over the variable, the variable over the
  file. The column *variable* names the variable. The flag is ` + "`--set KEY=VALUE`" + `, such as ` + "`--set redis.url=embedded`" + `.
- A variable or a flag gives one text. The items of a list stand between commas. A list of maps can stand in the file only.
- ` + "`${NAME}`" + ` in a text of the file is the environment variable NAME. A secret that begins with ` + "`file:`" + ` is read from that file.
- Durations are numbers with ` + "`ms`, `s`, `m`, `h` or `d`" + `: ` + "`90s`, `1h30m`, `90d`" + `. Paths are relative to the configuration file.
- ` + "`NAME`" + ` in a key is a name that you choose: 1 to 64 letters, digits, _ . -, the first a letter or digit.
- ` + "`tallyman config check`" + ` says what is wrong with a configuration, each fault with its line.
`

// setting is a key of the configuration.
type setting struct {
	key, takes, initial, variable, meaning string
}

// configurationPage lists every key.
func configurationPage() (string, error) {
	var b strings.Builder
	b.WriteString(configurationHead)
	c := app.DefaultConfig()
	v := reflect.ValueOf(&c).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		name := keyOf(f.Tag)
		if name == "" {
			continue
		}
		b.WriteString("\n## " + name + "\n\n" + f.Tag.Get("doc") + "\n\n")
		switch name {
		case "sources":
			b.WriteString(keyTable(sourceSettings()) + "\n" + driverTable())
		case "sinks":
			b.WriteString(sinkTables("sinks.NAME.", true))
		case "subscriptions":
			query, list := subscriptionSettings()
			b.WriteString("As a query of a source:\n\n" + keyTable(query) + "\nAs a list, in the file only:\n\n" + keyTable(list))
		default:
			b.WriteString(keyTable(settingsOf(name+".", v.FieldByIndex(f.Index))))
		}
	}
	return b.String(), nil
}

// everySetting is every key of the configuration.
func everySetting() []setting {
	var all []setting
	c := app.DefaultConfig()
	v := reflect.ValueOf(&c).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		switch name := keyOf(f.Tag); name {
		case "", "sources", "sinks", "subscriptions":
		default:
			all = append(all, settingsOf(name+".", v.FieldByIndex(f.Index))...)
		}
	}
	for _, t := range app.Types().Sinks {
		all = append(all, settingsOf("sinks."+t.Name+".", reflect.ValueOf(t.New()).Elem())...)
	}
	query, list := subscriptionSettings()
	return slices.Concat(all, sourceSettings(), query, list)
}

// sourceSettings are the keys of a source.
func sourceSettings() []setting {
	var s config.Source
	s.SetDefaults()
	list := settingsOf("sources.NAME.", reflect.ValueOf(&s).Elem())
	for i := range list {
		if list[i].key == "sources.NAME.driver" {
			var names []string
			for _, d := range app.Types().Drivers {
				names = append(names, code(d.Name))
			}
			list[i].takes = strings.Join(names, " ")
		}
	}
	return list
}

// driverTable lists the drivers of sources.
func driverTable() string {
	var rows [][]string
	for _, d := range app.Types().Drivers {
		name := code(d.Name)
		if d.Covers != "" {
			name += ", for " + d.Covers + " too"
		}
		rows = append(rows, []string{name, d.Address})
	}
	return table([]string{"driver", "url"}, rows)
}

// subscriptionSettings are the keys of the two forms of subscriptions.
func subscriptionSettings() (query, list []setting) {
	var q config.SubscriptionQuery
	q.SetDefaults()
	query = settingsOf("subscriptions.", reflect.ValueOf(&q).Elem())
	list = settingsOf("subscriptions[].", reflect.ValueOf(&config.Subscription{}).Elem())
	for i := range list {
		list[i].variable, list[i].initial = "", needed
	}
	return query, list
}

// sinkTables have a table of what every push channel has, and one for each type of what the type has beside that.
func sinkTables(prefix string, variables bool) string {
	written := keyTable
	if !variables {
		written = settingTable
	}
	common := sinks.NewPushSettings("")
	shared := settingsOf(prefix, reflect.ValueOf(&common).Elem())
	var text strings.Builder
	text.WriteString("### Every push channel\n\n" + written(shared))
	for _, t := range app.Types().Sinks {
		own := slices.DeleteFunc(settingsOf(prefix, reflect.ValueOf(t.New()).Elem()), func(one setting) bool {
			return slices.ContainsFunc(shared, func(s setting) bool { return s.key == one.key })
		})
		text.WriteString("\n### " + t.Name + "\n\n" + written(own))
	}
	return text.String()
}

// settingTable is a table without the variables.
func settingTable(list []setting) string {
	rows := make([][]string, len(list))
	for i, s := range list {
		rows[i] = []string{code(s.key), s.takes, shownDefault(s.initial), s.meaning}
	}
	return table([]string{"setting", "takes", "default", "meaning"}, rows)
}

// keyTable is a table with the variables.
func keyTable(list []setting) string {
	rows := make([][]string, len(list))
	for i, s := range list {
		rows[i] = []string{code(s.key), s.takes, shownDefault(s.initial), s.meaning, cmp.Or(code(s.variable), "–")}
	}
	return table([]string{"key", "takes", "default", "meaning", "variable"}, rows)
}

// needed stands in the place of the default of a key that must be given.
const needed = "needed"

func shownDefault(initial string) string {
	if initial == needed || strings.Contains(initial, " ") && !strings.HasPrefix(initial, "[") {
		return initial // words, not a value
	}
	return code(initial)
}

// settingsOf are the settings of a struct, as its tags, its types and its notes tell of them; those of a struct inside come behind its own
// row.
func settingsOf(prefix string, v reflect.Value) []setting {
	var list []setting
	notes := map[string]strictyaml.Note{}
	if n, ok := reflect.TypeAssert[strictyaml.Noter](v.Addr()); ok {
		notes = n.Notes()
	}
	for _, f := range reflect.VisibleFields(v.Type()) {
		name := keyOf(f.Tag)
		if name == "" {
			continue
		}
		value := v.FieldByIndex(f.Index)
		below := structIn(value)
		s := setting{key: prefix + name, takes: takes(f.Tag, value, notes[name]), initial: cmp.Or(notes[name].Default, written(value)), meaning: f.Tag.Get("doc")}
		switch {
		case name == "type" && strings.HasPrefix(prefix, "sinks."), prefix == "" && name == "type":
			s.initial = ""
		case strings.HasSuffix(f.Tag.Get("yaml"), ",required"):
			s.initial = needed
		}
		switch {
		case isMap(value):
			s.variable = config.Variable(s.key) + "__KEY"
		case !below.IsValid():
			s.variable = config.Variable(s.key)
		}
		list = append(list, s)
		if below.IsValid() {
			list = append(list, settingsOf(prefix+name+".", below)...)
		}
	}
	return list
}

// keyOf is the key that a tag names; "" = none.
func keyOf(tag reflect.StructTag) string {
	name, _, _ := strings.Cut(tag.Get("yaml"), ",")
	return strings.TrimPrefix(name, "-")
}

// structIn is the struct with the keys below a value; invalid where the value has none. A pointer that is nil gets what applies once
// somebody writes the key.
func structIn(value reflect.Value) reflect.Value {
	if takesItself(value) != "" {
		return reflect.Value{}
	}
	if value.Kind() == reflect.Pointer && value.Type().Elem().Kind() == reflect.Struct {
		made := reflect.New(value.Type().Elem())
		if d, ok := reflect.TypeAssert[strictyaml.Defaulter](made); ok {
			d.SetDefaults()
		}
		value = made.Elem()
		if takesItself(value) != "" {
			return reflect.Value{}
		}
	}
	if value.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return value
}

// takesItself is what the type of a value says that it takes; "" where it says nothing.
func takesItself(value reflect.Value) string {
	if value.Kind() == reflect.Pointer {
		value = reflect.New(value.Type().Elem()).Elem()
	}
	if t, ok := reflect.TypeAssert[strictyaml.Taker](value.Addr()); ok {
		return t.Takes()
	}
	return ""
}

// isMap tells whether a value has keys that whoever writes the configuration chooses.
func isMap(value reflect.Value) bool {
	return value.Kind() == reflect.Map || strings.HasPrefix(takesItself(value), strictyaml.MapWords)
}

// takes says what a setting may be.
func takes(tag reflect.StructTag, value reflect.Value, note strictyaml.Note) string {
	kind, bounds := kindOf(value), boundsOf(tag)
	enum := tag.Get("enum")
	switch {
	case enum != "" && value.Kind() == reflect.Slice:
		return "list of " + code(strings.ReplaceAll(enum, ",", "` `"))
	case enum != "":
		return code(strings.ReplaceAll(enum, ",", "` `"))
	}
	own := takesItself(value)
	words := cmp.Or(note.Takes, own, kind)
	if bounds != "" && own == "" { // a type that says what it takes says its bounds, too
		words += ", " + bounds
	}
	return words
}

// kindOf names the kind of a value.
func kindOf(value reflect.Value) string {
	switch value.Type() {
	case reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.TypeFor[[]time.Duration]():
		return "list of durations"
	}
	switch value.Kind() {
	case reflect.Bool:
		return "`true` `false`"
	case reflect.Int:
		return "whole number"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "list of texts"
	case reflect.Map:
		return "map of texts"
	default:
		return "the keys below"
	}
}

// boundsOf says how tags bound a setting.
func boundsOf(tag reflect.StructTag) string {
	low, high := tag.Get("min"), tag.Get("max")
	switch {
	case low != "" && high != "":
		return low + " to " + high
	case low != "":
		return "at least " + low
	case high != "":
		return "at most " + high
	}
	return ""
}

// written is a default as the configuration has it.
func written(v reflect.Value) string {
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Map {
		return ""
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return strictyaml.FormatDuration(x)
	case []time.Duration:
		list := make([]string, len(x))
		for i, d := range x {
			list[i] = strictyaml.FormatDuration(d)
		}
		return "[" + strings.Join(list, ", ") + "]"
	case bool:
		return fmt.Sprint(x)
	case int:
		return strings.TrimPrefix(fmt.Sprint(x), "0")
	case fmt.Stringer:
		return x.String()
	}
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Float64:
		return fmt.Sprint(v.Float())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.String && v.Len() > 0 {
			return strings.ReplaceAll(fmt.Sprint(v.Interface()), " ", ", ")
		}
	default:
	}
	return ""
}
