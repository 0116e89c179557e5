package strictyaml

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"tallyman/internal/text"
	"tallyman/rules/problem"
)

// Reader resolves references in the texts of a settings file, such as references to variables. A DecodeYAML gets the
// Reader from Decoder.Reader.
type Reader interface {
	// Expand returns the text with its references resolved. It reports a reference that it cannot read with d.Fail.
	Expand(d *Decoder, name string, n *Node) (string, bool)
}

// Checker is a struct with a check over several fields. Decode calls it where it found no problem in the struct.
type Checker interface{ Check(Section) }

// Defaulter is a value that sets its own defaults. The decoder calls it for new values in lists, maps and pointers.
type Defaulter interface{ SetDefaults() }

// Taker is a type that reads its own YAML and says in words what it takes. The reference of settings shows these words.
// The words of a type that is a map begin with MapWords.
type Taker interface{ Takes() string }

// MapWords begins the words of a Taker whose type is a map. A variable or a flag cannot set such a value.
const MapWords = "a map"

// Noter is a struct whose Notes describe its fields: bounds and defaults that are in the code and not in a tag.
type Noter interface{ Notes() map[string]Note }

// Note says in words what a field takes, and the default for a field that the file does not have. An empty text means
// that there is no note.
type Note struct{ Takes, Default string }

func setDefaults(v reflect.Value) {
	if s, ok := reflect.TypeAssert[Defaulter](v.Addr()); ok {
		s.SetDefaults()
	}
}

// DecodeSettings is Decode for a settings file. Overlay has made root, and r resolves the texts. Numbers, durations and
// booleans may also be texts, because variables and references give texts. Problems name the whole path of a value.
func (f *File) DecodeSettings(root *Node, dst any, r Reader) problem.List {
	d := &Decoder{file: f, settings: r, bad: map[*Node]bool{}, resolved: map[*Node]string{}}
	d.value("", root, root, reflect.ValueOf(dst).Elem(), "")
	if c, ok := dst.(RootChecker); ok {
		c.CheckAll(Section{d: d, owner: root, node: root})
	}
	return d.problems
}

// RootChecker is a root struct that checks its sections against each other. DecodeSettings calls CheckAll even where it
// found problems, so CheckAll must ask Section.IsBad before it uses a section.
type RootChecker interface{ CheckAll(Section) }

// Reader returns the reader of DecodeSettings.
func (d *Decoder) Reader() Reader { return d.settings }

// Expand returns the text of a setting with its references resolved. No problem at n shows the resolved text, because
// the value of a reference may be a secret.
func (d *Decoder) Expand(name string, n *Node) (string, bool) {
	s, ok := d.settings.Expand(d, name, n)
	if ok && s != n.Text {
		d.resolved[n] = s
	}
	return s, ok
}

// IsResolved tells whether the text of n came from references. A problem must not show a part of such a text.
func (d *Decoder) IsResolved(n *Node) bool { return d.resolved[n] != "" }

// leastSecret is the smallest length of a secret in bytes. Shorter texts are everywhere in a problem.
const leastSecret = 4

// unresolved takes the text of a problem at n. It replaces the resolved text there, also where that text is quoted or
// cut, with the text that has the references.
func (d *Decoder) unresolved(n *Node, text string) string {
	resolved := d.resolved[n]
	if len(resolved) < leastSecret {
		return text
	}
	for _, s := range []string{resolved, clip(resolved)} {
		quoted := strconv.Quote(s)
		text = strings.ReplaceAll(text, quoted[1:len(quoted)-1], n.Text)
		text = strings.ReplaceAll(text, s, n.Text)
	}
	return text
}

// Setting returns a single value as a text, with references resolved. want names the expected kind for messages.
func (d *Decoder) Setting(name string, n *Node, want string) (string, bool) {
	switch {
	case n.Kind != Scalar || n.IsNull():
		d.wrong(name, n, want, "")
		return "", false
	case n.Origin == "" && n.Tag != "!!str":
		return n.Text, true
	}
	s := n.Text
	if n.Origin == "" {
		var ok bool
		if s, ok = d.Expand(name, n); !ok {
			return "", false
		}
	}
	return d.shaped(name, n, s, d.shape)
}

// Line checks that s is a text of one line, and reports a fault at n.
func (d *Decoder) Line(name string, n *Node, s string) (string, bool) {
	return d.shaped(name, n, s, text.Line)
}

func (d *Decoder) shaped(name string, n *Node, s string, shape text.Shape) (string, bool) {
	if fault := text.Check(s, shape); fault != nil {
		d.Fail(n, CodeText, fmt.Sprintf("%s: %v", name, fault), "")
		return "", false
	}
	return s, true
}

func (d *Decoder) settingText(name string, n *Node) (string, bool) {
	if n.Kind == Scalar && n.Origin == "" && n.Tag != "!!str" {
		d.wrong(name, n, "a text", "")
		return "", false
	}
	return d.Setting(name, n, "a text")
}

func (d *Decoder) settingBool(name string, n *Node) (bool, bool) {
	s, ok := d.Setting(name, n, "true or false")
	switch {
	case !ok:
	case strings.EqualFold(s, "true"):
		return true, true
	case strings.EqualFold(s, "false"):
		return false, true
	default:
		d.Fail(n, CodeType, fmt.Sprintf("%s takes true or false, found %q", name, s), "")
	}
	return false, false
}

func (d *Decoder) settingInt(name string, n *Node) (int64, bool) {
	s, ok := d.Setting(name, n, "a whole number")
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(s)
	if err != nil {
		d.Fail(n, CodeType, fmt.Sprintf("%s takes a whole number, found %q", name, s), "")
	}
	return int64(i), err == nil
}

// wrongSetting reports a value of the wrong kind. The message does not show a text, because the text may be a secret.
func (d *Decoder) wrongSetting(name string, n *Node, want string) {
	found, hint := n.describe(), ""
	switch {
	case n.Kind != Scalar:
		d.Faults(n)
	case n.IsNull():
		hint = "remove the field, or give it a value"
	case n.Tag == "!!str" || n.Origin != "":
		found = "a text"
	default:
		found, hint = n.Text, "put it in quotes"
	}
	d.Fail(n, CodeType, fmt.Sprintf("%s takes %s, found %s", name, want, found), hint)
}

// split turns a text from a variable or flag into a list. Variables and flags write lists of texts or durations with
// commas between the items.
func split(n *Node, of reflect.Type) *Node {
	isDuration := of == durationType
	if n.Origin == "" || n.Kind != Scalar || !isDuration && of.Kind() != reflect.String {
		return n
	}
	items := n.Split()
	if isDuration {
		items = slices.DeleteFunc(items, func(item *Node) bool { return item.Text == "" })
	}
	return &Node{Kind: Sequence, Path: n.Path, Origin: n.Origin, Items: items}
}

// Split cuts a text from a variable or flag at its commas.
func (n *Node) Split() []*Node {
	var items []*Node
	for part := range strings.SplitSeq(n.Text, ",") {
		items = append(items, &Node{Kind: Scalar, Tag: "!!str", Text: strings.TrimSpace(part), Path: n.Path, Origin: n.Origin})
	}
	return items
}

// Attempt calls f, and returns the problems that f reported. It removes them from the decoder; Add can report them
// again.
func (d *Decoder) Attempt(f func()) problem.List {
	before, bad := len(d.problems), maps.Clone(d.bad)
	f()
	found := slices.Clone(d.problems[before:])
	d.problems, d.bad = d.problems[:before], bad
	return found
}

// Add reports problems that Attempt has returned. n is the node of the problems.
func (d *Decoder) Add(n *Node, found problem.List) {
	d.problems = append(d.problems, found...)
	d.bad[n] = d.bad[n] || len(found) > 0
}

// Entry decodes an entry of a mapping. A DecodeYAML of the mapping calls it; name is the name of the mapping.
func (d *Decoder) Entry(name string, f Field, dst any) {
	d.value(join(name, f.Name), f.Key, f.Value, reflect.ValueOf(dst).Elem(), "")
}

// Bounded is Value for a number or a duration whose bounds are in tag.
func (d *Decoder) Bounded(name string, n *Node, dst any, tag reflect.StructTag) {
	d.value(name, n, n, reflect.ValueOf(dst).Elem(), tag)
}

// Count returns the number of problems so far.
func (d *Decoder) Count() int { return len(d.problems) }

// Is tells whether the node has the kind, and reports a problem where it does not. want names the kind for the message.
func (d *Decoder) Is(kind Kind, name string, n *Node, want string) bool {
	return d.is(kind, name, n, want)
}

// Unknown reports a field that the mapping called name does not have.
func (d *Decoder) Unknown(name string, f Field, known []string) { d.unknown(name, f, known) }

// FieldNames returns the names in the tags of a struct, or of a pointer to a struct.
func FieldNames(of any) []string {
	return newFile("", "").fieldsOf(reflect.Indirect(reflect.ValueOf(of)).Type()).names
}

// Section is a decoded mapping, for checks over several of its fields.
type Section struct {
	d     *Decoder
	name  string
	owner *Node // The key of the mapping.
	node  *Node // nil means that the file lacks the mapping.
}

// In returns the section of a field.
func (s Section) In(field string) Section {
	in := Section{d: s.d, name: join(s.name, field), owner: s.owner}
	if f := s.node.Field(field); f != nil {
		in.owner, in.node = f.Key, f.Value
	}
	return in
}

// Item returns the section of item i in the list of a field.
func (s Section) Item(field string, i int) Section {
	list := s.In(field)
	in := Section{d: s.d, name: join(list.name, strconv.Itoa(i)), owner: list.owner}
	if list.node != nil && i < len(list.node.Items) {
		in.owner, in.node = list.node.Items[i], list.node.Items[i]
	}
	return in
}

// String returns the full name of the section.
func (s Section) String() string { return s.name }

// Fail reports a problem at the section's value. Where the value is missing, or is a map or a list, the place is the
// name.
func (s Section) Fail(code, message, hint string) {
	at := s.owner
	if s.node != nil && s.node.Kind == Scalar {
		at = s.node
	}
	s.d.Fail(at, code, message, hint)
}

// FailName reports a problem at the section's name.
func (s Section) FailName(code, message, hint string) { s.d.Fail(s.owner, code, message, hint) }

// Missing reports that the section lacks the field.
func (s Section) Missing(field string) {
	s.FailName(CodeMissing, join(s.name, field)+" is missing", "")
}

// Path returns the path to the section, with / between the names. It is "" where the file lacks the section.
func (s Section) Path() string {
	if s.node == nil {
		return ""
	}
	return s.node.Path
}

// IsBad tells whether there is a problem at the section or below it.
func (s Section) IsBad() bool { return s.d.isBad(s.owner) || s.d.isBad(s.node) }

func (d *Decoder) isBad(n *Node) bool {
	if n == nil {
		return false
	}
	return d.bad[n] || slices.ContainsFunc(n.Items, d.isBad) ||
		slices.ContainsFunc(n.Fields, func(f Field) bool { return d.isBad(f.Key) || d.isBad(f.Value) })
}

// Reader returns the reader of DecodeSettings.
func (s Section) Reader() Reader { return s.d.settings }

// Overlay makes the tree of a configuration that was merged from the file, variables and flags. merged holds maps and
// leaves. For a leaf of the file, place returns the leaf's node. For any other leaf, place returns a nil node, the
// text, and the variable or flag that set the leaf.
func (f *File) Overlay(merged map[string]any, place func(leaf any) (n *Node, value, origin string)) *Node {
	return overlay{place}.mapping(merged, f.Root, "")
}

type overlay struct {
	place func(leaf any) (*Node, string, string)
}

func (o overlay) mapping(m map[string]any, file *Node, path string) *Node {
	n := &Node{Kind: Mapping, Path: path}
	if file != nil {
		n.Line, n.Col = file.Line, file.Col
	}
	if file != nil && file.Kind == Mapping {
		n.faults = file.faults
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		field := Field{Name: name, Key: &Node{Kind: Scalar, Tag: "!!str", Text: name, Path: strings.TrimPrefix(path+"/"+name, "/")}}
		written := file.Field(name)
		var below *Node
		if written != nil {
			field.Key.Line, field.Key.Col, below = written.Key.Line, written.Key.Col, written.Value
		}
		field.Value = o.value(m[name], below, field.Key)
		switch {
		case written == nil:
			field.Key.Origin = firstOrigin(field.Value)
		case field.Value.Kind == Scalar:
			field.Key.Origin = field.Value.Origin
		}
		n.Fields = append(n.Fields, field)
	}
	return n
}

// value makes the node of a value. A map or a list gets the place of its key.
func (o overlay) value(v any, file, key *Node) *Node {
	if m, ok := v.(map[string]any); ok {
		n := o.mapping(m, file, key.Path)
		n.Line, n.Col = key.Line, key.Col
		return n
	}
	written, s, origin := o.place(v)
	if written == nil {
		return &Node{Kind: Scalar, Tag: "!!str", Text: s, Origin: origin, Path: key.Path}
	}
	n := o.written(written, key.Path)
	if n.Kind != Scalar {
		n.Line, n.Col = key.Line, key.Col
	}
	return n
}

// written copies a value of the file. Values that aliases share become separate values, so that each has its own path.
func (o overlay) written(of *Node, path string) *Node {
	n := *of
	n.Path, n.Fields, n.Items = path, nil, nil
	for _, f := range of.Fields {
		key := *f.Key
		key.Path = path + "/" + f.Name
		value := o.written(f.Value, key.Path)
		if value.Kind != Scalar {
			value.Line, value.Col = key.Line, key.Col
		}
		n.Fields = append(n.Fields, Field{Name: f.Name, Key: &key, Value: value})
	}
	for i, item := range of.Items {
		n.Items = append(n.Items, o.written(item, path+"/"+strconv.Itoa(i)))
	}
	slices.SortStableFunc(n.Fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	return &n
}

// firstOrigin returns the variable or flag that set a value at or below the node, or "". Where there are several, it
// returns the first one in the order of their names.
func firstOrigin(n *Node) string {
	first := n.Origin
	for _, f := range n.Fields {
		if o := firstOrigin(f.Value); o != "" && (first == "" || o < first) {
			first = o
		}
	}
	return first
}
