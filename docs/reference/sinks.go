package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"tallyman/internal/app"
	"tallyman/rules/strictyaml"
	"tallyman/sinks"
)

// sinkSettings has a table of what every push channel has, and one for each type of what it has beside that.
func sinkSettings() string {
	common := sinks.NewPushSettings("")
	shared := settingRows("", reflect.ValueOf(common))
	var text strings.Builder
	text.WriteString("### Every push channel\n\n" + settingTable(shared))
	for _, t := range app.Types().Sinks {
		own := slices.DeleteFunc(settingRows("", reflect.ValueOf(t.New()).Elem()), func(row []string) bool {
			return slices.ContainsFunc(shared, func(s []string) bool { return s[0] == row[0] })
		})
		text.WriteString("\n### " + t.Name + "\n\n" + settingTable(own))
	}
	return text.String()
}

func settingTable(rows [][]string) string {
	return table([]string{"setting", "takes", "default", "meaning"}, rows)
}

// settingRows are the settings of a struct, as its tags tell of them; those of a struct inside come behind its own row.
func settingRows(prefix string, v reflect.Value) [][]string {
	var rows [][]string
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" {
			continue
		}
		value := v.FieldByIndex(f.Index)
		initial := written(value)
		if prefix+name == "type" {
			initial = ""
		}
		rows = append(rows, []string{code(prefix + name), takes(f.Tag), code(initial), f.Tag.Get("doc")})
		if value.Kind() == reflect.Struct {
			rows = append(rows, settingRows(prefix+name+".", value)...)
		}
	}
	return rows
}

// takes says what a setting may be, as far as its tags bound it.
func takes(tag reflect.StructTag) string {
	low, high := tag.Get("min"), tag.Get("max")
	switch {
	case tag.Get("enum") != "":
		return code(strings.ReplaceAll(tag.Get("enum"), ",", "` `"))
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
	if v.Kind() == reflect.String {
		return v.String()
	}
	return ""
}
