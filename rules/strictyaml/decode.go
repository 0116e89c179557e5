package strictyaml

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/text"
	"tallyman/rules/problem"
)

// Decodable is a value that reads its node itself, because the field takes several shapes.
type Decodable interface {
	// DecodeYAML fills the value from n. name is the name of the field, for messages. DecodeYAML reports faults with
	// d.Fail.
	DecodeYAML(d *Decoder, name string, n *Node)
}

// maxProblems is the most problems that one Decode reports. Nobody reads more.
const maxProblems = 1000

// Decoder collects the problems of one Decode.
type Decoder struct {
	file     *File
	problems problem.List
	shape    text.Shape     // The shape of texts in the field that is being decoded.
	settings Reader         // Set by DecodeSettings. nil for Decode.
	bad      map[*Node]bool // The nodes with problems, for Section.IsBad. nil for Decode.
	// The texts of settings with references, after these were resolved. nil for Decode.
	resolved map[*Node]string
}

// Decode fills dst, a pointer, from the node. It returns every problem at and below the node. Fields that the node does
// not have keep their values. These are the tags of a struct's fields:
//
//   - yaml:"name" gives the name of the field, and yaml:"name,required" makes it required.
//   - enum:"a,b" lists the values of a text.
//   - min:"1" and max:"9" bound a number or a duration, also in a list. Without min, a duration must not be negative.
//   - text:"lines" allows line breaks and tabs in a text, also in a list or a map of texts.
//   - text:"raw" allows everything that a row of a source may hold.
//
// An embedded struct adds its fields to the struct around it. A field of type *Node takes any node, without decoding
// it.
func (f *File) Decode(n *Node, dst any) problem.List {
	d := &Decoder{file: f}
	d.value("", n, n, reflect.ValueOf(dst).Elem(), "")
	return d.problems
}

// Fail reports a problem at the node.
func (d *Decoder) Fail(n *Node, code, message, hint string) {
	if w, found := fullWidth(n, code); found {
		d.add(n, d.file.ProblemIn(n, w.Offset, problem.CodeFullWidth, w.Message(), w.Hint()))
		return
	}
	d.add(n, d.file.Problem(n, code, d.unresolved(n, message), d.unresolved(n, hint)))
}

// add records a problem of the node.
func (d *Decoder) add(n *Node, p problem.Problem) {
	if len(d.problems) >= maxProblems {
		return
	}
	d.problems = append(d.problems, p)
	if d.bad != nil {
		d.bad[n] = true
	}
}

// Value fills dst, a pointer, from the node. A DecodeYAML calls it for values inside its own.
func (d *Decoder) Value(name string, n *Node, dst any) {
	d.value(name, n, n, reflect.ValueOf(dst).Elem(), "")
}

// Faults reports the faults that Parse has found at the node. A DecodeYAML that walks a mapping itself must call it.
func (d *Decoder) Faults(n *Node) {
	for _, f := range n.faults {
		d.Fail(f.at, f.code, f.message, f.hint)
	}
}

var (
	nodeType     = reflect.TypeFor[*Node]()
	durationType = reflect.TypeFor[time.Duration]()
)

// value decodes n into v. owner is the key of n. A problem about a missing field has the place of owner.
func (d *Decoder) value(name string, owner, n *Node, v reflect.Value, tag reflect.StructTag) {
	if v.Type() == nodeType {
		v.Set(reflect.ValueOf(n))
		return
	}
	if c, ok := reflect.TypeAssert[Decodable](v.Addr()); ok {
		c.DecodeYAML(d, name, n)
		return
	}
	switch {
	case v.Type() == durationType:
		d.duration(name, n, v, tag)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		setDefaults(v.Elem())
		d.value(name, owner, n, v.Elem(), tag)
	case v.Kind() == reflect.Struct:
		d.structure(name, owner, n, v)
	case v.Kind() == reflect.Map:
		d.mapping(name, n, v)
	case v.Kind() == reflect.Slice:
		d.list(name, n, v, tag)
	default:
		d.scalar(name, n, v, tag)
	}
}

func (d *Decoder) structure(name string, owner, n *Node, v reflect.Value) {
	if !d.is(Mapping, name, n, "a map of fields") {
		return
	}
	before := len(d.problems)
	d.Faults(n)
	fields := d.file.fieldsOf(v.Type())
	for _, f := range n.Fields {
		i, ok := fields.index[f.Name]
		if !ok {
			d.unknown(name, f, fields.names)
			continue
		}
		d.field(name, f, v.FieldByIndex(i), v.Type().FieldByIndex(i).Tag)
	}
	for _, want := range fields.required {
		if n.Field(want) == nil {
			d.Fail(owner, CodeMissing, fmt.Sprintf("%s is missing", join(name, want)), "")
		}
	}
	if c, ok := reflect.TypeAssert[Checker](v.Addr()); ok && len(d.problems) == before {
		c.Check(Section{d: d, name: name, owner: owner, node: n})
	}
}

// field decodes a field of a struct. The field's tag sets the shape of its texts.
func (d *Decoder) field(of string, f Field, v reflect.Value, tag reflect.StructTag) {
	name := f.Name
	if d.settings != nil {
		name = join(of, name)
	}
	outer := d.shape
	d.shape = text.ShapeOf(tag.Get(text.Tag))
	d.value(name, f.Key, f.Value, v, tag)
	d.shape = outer
}

func (d *Decoder) unknown(name string, f Field, known []string) {
	if d.settings != nil {
		known = slices.Sorted(slices.Values(known))
	}
	hint := problem.DidYouMean(f.Name, known)
	if hint == "" {
		hint = "known fields: " + strings.Join(known, ", ")
	}
	where := fmt.Sprintf("%q here", clip(f.Name))
	switch {
	case d.settings != nil:
		where = strconv.Quote(join(name, f.Name))
	case name != "":
		where = fmt.Sprintf("%q in %s", clip(f.Name), name)
	}
	d.Fail(f.Key, CodeUnknown, "there is no field "+where, hint)
}

func (d *Decoder) mapping(name string, n *Node, v reflect.Value) {
	if !d.is(Mapping, name, n, "a map") {
		return
	}
	d.Faults(n)
	m := reflect.MakeMapWithSize(v.Type(), len(n.Fields))
	for _, f := range n.Fields {
		if fault := text.Check(f.Name, text.Line); fault != nil && d.shape != text.Raw {
			d.Fail(f.Key, CodeText, fmt.Sprintf("a name in %s: %v", name, fault), "")
		}
		item := reflect.New(v.Type().Elem()).Elem()
		setDefaults(item)
		d.value(join(name, f.Name), f.Key, f.Value, item, "")
		m.SetMapIndex(reflect.ValueOf(f.Name), item)
	}
	v.Set(m)
}

func (d *Decoder) list(name string, n *Node, v reflect.Value, tag reflect.StructTag) {
	n = split(n, v.Type().Elem())
	if !d.is(Sequence, name, n, "a list") {
		return
	}
	d.Faults(n)
	s := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		d.commas(n, item)
		setDefaults(s.Index(i))
		d.value(d.item(name, n, i), item, item, s.Index(i), tag)
	}
	v.Set(s)
}

// item names an item of the list n.
func (d *Decoder) item(list string, n *Node, i int) string {
	switch {
	case n.Origin != "": // the list is one text with commas, so its items have no names
		return list
	case d.settings != nil:
		return join(list, strconv.Itoa(i))
	}
	return fmt.Sprintf("%s[%d]", list, i)
}

// is tells whether the node has the kind, and reports a problem where it does not.
func (d *Decoder) is(kind Kind, name string, n *Node, want string) bool {
	if n.Kind == kind {
		return true
	}
	hint := ""
	switch {
	case n.IsNull():
		hint = "remove the field, or give it a value"
	case kind == Sequence && n.Kind == Scalar:
		hint = "write [" + clip(n.Text) + "]"
	}
	d.wrong(name, n, want, hint)
	return false
}

func (d *Decoder) wrong(name string, n *Node, want, hint string) {
	if d.settings != nil {
		d.wrongSetting(name, n, want)
		return
	}
	if n.Kind != Scalar {
		d.Faults(n)
	}
	switch {
	case n == d.file.Root:
		name = "the file"
	case name == "":
		name = "this entry"
	}
	d.Fail(n, CodeType, fmt.Sprintf("%s takes %s, found %s", name, want, n.describe()), hint)
}

func join(name, field string) string {
	if name == "" {
		return field
	}
	return name + "." + field
}

type structFields struct {
	index    map[string][]int
	names    []string
	required []string
}

// fieldsOf returns the names in a struct's tags. The file caches them, because it decodes into the same few types again
// and again.
func (f *File) fieldsOf(t reflect.Type) *structFields {
	if s := f.fields[t]; s != nil {
		return s
	}
	s := &structFields{index: map[string][]int{}}
	f.fields[t] = s
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		s.index[name] = field.Index
		s.names = append(s.names, name)
		if options == "required" {
			s.required = append(s.required, name)
		}
	}
	return s
}
