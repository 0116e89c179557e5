package ruletest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// fieldOrder is the order in which a notice's fields are shown; others follow by name.
var fieldOrder = []string{
	"status", "type", "typeId", "warehouse", "priority", "modal", "key", "title", "body", "data", "labels", "count", "sinks", "deliver",
	"sink", "strategy", "delay", "at", "within", "retry", "unless", // of an entry of deliver
}

func byField(a, b string) int {
	place := func(name string) int {
		if i := slices.Index(fieldOrder, name); i >= 0 {
			return i
		}
		return len(fieldOrder)
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
}

// bare are the texts that YAML reads as themselves; words are those that it reads as something else.
var (
	bare  = regexp.MustCompile(`^[\pL_/][\pL\pN_ ./()+-]*$`)
	words = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
)

// flow writes a value as YAML in one line, so that it can be copied into the test.
func flow(v any) string {
	var b strings.Builder
	writeFlow(&b, v)
	return b.String()
}

func writeFlow(b *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for i, name := range slices.SortedFunc(maps.Keys(v), byField) {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(name + ": ")
			writeFlow(b, v[name])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			writeFlow(b, item)
		}
		b.WriteByte(']')
	case span:
		b.WriteString(short(time.Duration(v)))
	case string:
		if bare.MatchString(v) && !strings.HasSuffix(v, " ") && !slices.Contains(words, strings.ToLower(v)) {
			b.WriteString(v)
			return
		}
		if !strings.ContainsAny(v, "'\n\r\t") && strings.Contains(v, `"`) {
			b.WriteString("'" + v + "'")
			return
		}
		writeJSON(b, v)
	default:
		writeJSON(b, v)
	}
}

func writeJSON(b *strings.Builder, v any) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		b.WriteString("?") // nothing that JSON or YAML gave
		return
	}
	b.WriteString(strings.TrimSpace(text.String()))
}
