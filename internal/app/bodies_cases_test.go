package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// bodyCase is a body with one thing wrong.
type bodyCase struct {
	what, at, body string
	code           string // of the problem; "" is one of those of bodies
}

// object keeps its members in order, and can have one twice: it is what cases are written with.
type object []pair

type pair struct {
	name  string // as JSON
	value any    // object, []any, or JSON
}

func write(b *strings.Builder, v any) {
	switch v := v.(type) {
	case object:
		b.WriteByte('{')
		for i, p := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(p.name + ":")
			write(b, p.value)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, e)
		}
		b.WriteByte(']')
	case json.RawMessage:
		b.Write(v)
	default:
		panic(fmt.Sprintf("a %T in a body", v))
	}
}

// parse reads a body into what cases are written with.
func parse(t *testing.T, text json.RawMessage) any {
	t.Helper()
	switch text = json.RawMessage(strings.TrimSpace(string(text))); text[0] {
	case '{':
		var members map[string]json.RawMessage
		if err := json.Unmarshal(text, &members); err != nil {
			t.Fatal(err)
		}
		out := object{}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			out = append(out, pair{quoted(name), parse(t, members[name])})
		}
		return out
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(err)
		}
		out := []any{}
		for _, e := range list {
			out = append(out, parse(t, e))
		}
		return out
	}
	return text
}

func quoted(s string) string { return string(raw(s)) }

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// cases makes all cases of the operation. Each has one thing wrong; whatever else is in it the base request says.
func (o *bodyOperation) cases(t *testing.T, base string) []bodyCase {
	t.Helper()
	g := &generator{t: t, op: o}
	g.value("body", o.schema, parse(t, json.RawMessage(base)), func(v any) string {
		var b strings.Builder
		write(&b, v)
		return b.String()
	})
	return g.cases
}

type generator struct {
	t     *testing.T
	op    *bodyOperation
	cases []bodyCase
}

func (g *generator) add(what, at, body string) {
	g.cases = append(g.cases, bodyCase{what: what, at: at, body: body})
}

// value makes the cases of a value that is valid. in writes a body with another value in its place.
func (g *generator) value(at string, s schemaJSON, valid any, in func(any) string) {
	s = g.op.resolve(s)
	g.wrongKinds(at, s, in)
	switch s.kind() {
	case "object":
		g.object(at, s, valid.(object), in) //nolint:forcetypeassert // it is valid
	case "array":
		g.array(at, s, valid.([]any), in) //nolint:forcetypeassert // it is valid
	case "string":
		g.text(at, s, in)
	case "":
		g.refusedTexts(at+".a[1].b", `{"a":[1,{"b":"TEXT"}]}`, in)
	case "integer", "number":
		if s.Minimum != nil {
			g.add("a number below the minimum", at, in(raw(*s.Minimum-1)))
		}
		if s.Maximum != nil {
			g.add("a number above the maximum", at, in(raw(*s.Maximum+1)))
		}
	}
}

// wrongKinds makes a case of each kind of JSON that the schema does not have.
func (g *generator) wrongKinds(at string, s schemaJSON, in func(any) string) {
	kind := s.kind()
	if kind == "" {
		return
	}
	for other, value := range map[string]string{"string": `"text"`, "integer": "1", "boolean": "true", "object": "{}", "array": "[]"} {
		if other != kind && (other != "integer" || kind != "number" && !s.Digits && !s.Decimal) {
			g.add("the wrong type "+other, at, in(json.RawMessage(value)))
		}
	}
	if kind == "integer" {
		g.add("a broken number", at, in(json.RawMessage("1.5")))
		g.add("a number of more than 64 bits", at, in(json.RawMessage("1"+strings.Repeat("0", 30))))
	}
}

// refusedTexts makes cases of what no text may have, as it is and as an escape. in stands for TEXT in around, where
// there is something around.
func (g *generator) refusedTexts(at, around string, in func(any) string) {
	for _, words := range []string{`\u0000`, `a\u001b[31m`, "\x7f", `\u007f`, "\u0085", `\u009b`, "a\u202eb", `\u202E`, "\u2066", `\u2069`, `a\rb`} {
		text := `"` + words + `"`
		if around != "" {
			text = strings.Replace(around, `"TEXT"`, text, 1)
		}
		g.cases = append(g.cases, bodyCase{"a text with " + quoted(words), at, in(json.RawMessage(text)), "bad_text"})
	}
}

func (g *generator) text(at string, s schemaJSON, in func(any) string) {
	if s.MinLength != nil && *s.MinLength > 0 {
		g.add("a text that is too short", at, in(raw(strings.Repeat("x", *s.MinLength-1))))
	}
	if s.MaxLength != nil {
		g.add("a text that is too long", at, in(raw(strings.Repeat("x", *s.MaxLength+1))))
		if *s.MaxLength < 1000 {
			g.add("a text of too many characters", at, in(raw(strings.Repeat("库", *s.MaxLength+1))))
		}
	}
	if s.Pattern != "" {
		bad := "\u00a0"
		if regexp.MustCompile(s.Pattern).MatchString(bad) {
			g.t.Fatalf("%s: the pattern %s takes even %q", at, s.Pattern, bad)
		}
		g.add("a text off the pattern", at, in(raw(bad)))
	}
	if len(s.Enum) > 0 {
		g.add("a text that is none of the enum", at, in(raw("none of these")))
		g.add("a text of the enum in another case", at, in(raw(strings.ToUpper(fmt.Sprint(s.Enum[0])))))
	}
	if s.Format == "date-time" {
		g.add("a text that is no time", at, in(raw("yesterday")))
	}
	g.refusedTexts(at, "", in)
	g.add("a text that is no UTF-8", at, in(json.RawMessage("\"\xff\"")))
	g.add("half a character", at, in(json.RawMessage(`"\ud800"`)))
}

func (g *generator) array(at string, s schemaJSON, valid []any, in func(any) string) {
	element := g.valid(at+"[0]", *s.Items)
	if len(valid) > 0 {
		element = valid[0]
	}
	if s.MinItems != nil && *s.MinItems > 0 {
		g.add("too few elements", at, in(slices.Repeat([]any{element}, *s.MinItems-1)))
	}
	if s.MaxItems != nil {
		g.add("too many elements", at, in(slices.Repeat([]any{element}, *s.MaxItems+1)))
	}
	g.value(at+"[0]", *s.Items, element, func(v any) string {
		list := slices.Clone(valid)
		if len(list) == 0 {
			list = []any{v}
		}
		list[0] = v
		return in(list)
	})
	g.add("an element null", at+"[0]", in([]any{json.RawMessage("null")}))
}

func (g *generator) object(at string, s schemaJSON, valid object, in func(any) string) {
	of, free, ok := s.others()
	if !ok {
		g.add("a member that there is none of", at+".nope", in(append(slices.Clone(valid), pair{`"nope"`, raw(1)})))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if slices.Contains(s.Required, name) {
			g.add("a missing member "+name, at, in(valid.without(name)))
			if member := g.op.resolve(s.Properties[name]); !member.mayBeNull() {
				g.add("a required member null", at+"."+name, in(valid.with(name, raw(nil))))
			}
		}
		g.member(at, name, s.Properties[name], valid, !ok, in)
	}
	if s.MaxProperties != nil && ok {
		many, one := object{}, g.valid(at+".x", of)
		for i := range *s.MaxProperties + 1 {
			many = append(many, pair{quoted("x" + strconv.Itoa(i)), one})
		}
		g.add("too many members", at, in(many))
	}
	if free {
		g.add("a member of its own twice", at+".own", in(append(slices.Clone(valid), pair{`"own"`, raw(1)}, pair{`"own"`, raw(2)})))
		nested := object{{`"a"`, []any{object{{`"b"`, raw(1)}, {`"b"`, raw(2)}}}}}
		g.add("a member twice deep inside", at+".own.a[0].b", in(append(slices.Clone(valid), pair{`"own"`, nested})))
	} else if ok {
		g.member(at, "en", of, valid, false, in)
	}
}

// member makes the cases of a member.
func (g *generator) member(at, name string, s schemaJSON, valid object, exact bool, in func(any) string) {
	value, has := valid.get(name)
	if !has {
		value = g.valid(at+"."+name, s)
	}
	rest := valid.without(name)
	if exact {
		for _, other := range variants(name) {
			place := at + "." + other
			g.add("another case", place, in(append(slices.Clone(rest), pair{quoted(other), value})))
			g.add("another case behind the member", place, in(append(slices.Clone(rest), pair{quoted(name), value}, pair{quoted(other), value})))
			g.add("another case before the member", place, in(append(slices.Clone(rest), pair{quoted(other), value}, pair{quoted(name), value})))
		}
	}
	escaped := fmt.Sprintf(`"\u%04x%s"`, name[0], name[1:])
	for _, again := range []string{quoted(name), escaped} {
		g.add("the member twice", at+"."+name, in(append(slices.Clone(rest), pair{quoted(name), value}, pair{again, value})))
	}
	if s = g.op.resolve(s); s.kind() == "" {
		twice := object{{`"b"`, raw(1)}, {`"b"`, raw(2)}}
		g.add("a member twice in a free value", at+"."+name+".b", in(valid.with(name, twice)))
	}
	g.value(at+"."+name, s, value, func(v any) string { return in(valid.with(name, v)) })
}

// variants are names that encoding/json takes for the name.
func variants(name string) []string {
	list := []string{strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:]}
	if before, after, ok := strings.Cut(name, "s"); ok {
		list = append(list, before+"\u017f"+after)
	}
	if before, after, ok := strings.Cut(name, "k"); ok {
		list = append(list, before+"\u212a"+after)
	}
	return list
}

func (o object) get(name string) (any, bool) {
	for _, p := range o {
		if p.name == quoted(name) {
			return p.value, true
		}
	}
	return nil, false
}

func (o object) without(name string) object {
	return slices.DeleteFunc(slices.Clone(o), func(p pair) bool { return p.name == quoted(name) })
}

func (o object) with(name string, v any) object {
	return append(o.without(name), pair{quoted(name), v})
}

// valid makes a value that the schema takes.
func (g *generator) valid(at string, s schemaJSON) any {
	s = g.op.resolve(s)
	if len(s.Enum) > 0 {
		return raw(s.Enum[0])
	}
	if len(s.Examples) > 0 {
		return parse(g.t, raw(s.Examples[0]))
	}
	switch s.kind() {
	case "object":
		out := object{}
		for _, name := range s.Required {
			out = append(out, pair{quoted(name), g.valid(at+"."+name, s.Properties[name])})
		}
		return out
	case "array":
		out := []any{}
		if s.MinItems != nil {
			out = slices.Repeat([]any{g.valid(at+"[0]", *s.Items)}, *s.MinItems)
		}
		return out
	case "integer", "number":
		if s.Minimum != nil {
			return raw(*s.Minimum)
		}
		return raw(1)
	case "boolean":
		return raw(false)
	case "string":
		switch {
		case s.Pattern != "":
			g.t.Fatalf("%s has a pattern, and neither an example nor a value in the base request", at)
		case s.Format == "date-time":
			return raw("2026-06-01T08:00:00Z")
		case s.MinLength != nil:
			return raw(strings.Repeat("x", *s.MinLength))
		}
		return raw("x")
	}
	return raw(1)
}
