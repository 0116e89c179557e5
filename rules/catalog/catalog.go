package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/rules/deliver"
	"tallyman/rules/message"
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// FieldKind is the type of a notice's data field.
type FieldKind string

// The field kinds. Decimals travel as strings, so that nothing is lost in a float.
const (
	String  FieldKind = "string"
	Int     FieldKind = "int"
	Decimal FieldKind = "decimal"
	Bool    FieldKind = "bool"
	Time    FieldKind = "time"
)

// DefaultRetention is how long notices live where their type does not say it. The inbox also shows notices for 72 h
// (window in sinks/inbox).
const DefaultRetention = 72 * time.Hour

// Field is one data field of a type.
type Field struct {
	Type     FieldKind `json:"type" yaml:"type,required" enum:"string,int,decimal,bool,time"`
	Required bool      `json:"required,omitempty" yaml:"required"`
}

// Type is an entry of the catalogue. In JSON its retention is a text such as "72h".
type Type struct {
	Code      string            `json:"code" yaml:"code,required"` // Unique, such as REP_NOTICE.
	ID        int64             `json:"id" yaml:"id,required"`     // The numeric id in the WMS. Unique.
	Name      string            `json:"name" yaml:"name,required"`
	Names     map[string]string `json:"names,omitempty" yaml:"names"` // By language.
	Category  string            `json:"category,omitempty" yaml:"category"`
	Retention time.Duration     `json:"-" yaml:"retention" min:"1m" max:"3650d"` // How long notices live by default.
	Fields    map[string]Field  `json:"fields,omitempty" yaml:"fields"`
	Defaults
}

// FieldNames returns the names of the data fields, sorted: the order in which notices carry them.
func (t Type) FieldNames() []string { return slices.Sorted(maps.Keys(t.Fields)) }

// Catalog is the set of types by code.
type Catalog map[string]Type

// Codes returns the codes of the types, sorted.
func (c Catalog) Codes() []string { return slices.Sorted(maps.Keys(c)) }

// Code returns the code of a type. name is the code or the id of the type. Code returns name where there is no such
// type.
func (c Catalog) Code(name string) string {
	if _, ok := c[name]; ok {
		return name
	}
	id, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		return name
	}
	for code := range c {
		if c[code].ID == id {
			return code
		}
	}
	return name
}

// ReservedPrefix begins the codes of Tallyman's own types, and of no others.
const ReservedPrefix = "TALLYMAN_"

// The codes of the types of notices about rules themselves.
const (
	NoData     = ReservedPrefix + "NO_DATA"     // no_data: alert
	RuleFailed = ReservedPrefix + "RULE_FAILED" // on_error: alert
)

// ItemEvent is the code of the type of notices about events of items, which queues send to push channels.
const ItemEvent = ReservedPrefix + "ITEM"

// BuiltIn returns Tallyman's own types. Callers add them to the catalogue of every site.
func BuiltIn() Catalog {
	const category = "SYSTEM"
	fields := func(more map[string]Field) map[string]Field {
		more["rule"] = Field{Type: String, Required: true}
		more["scope"] = Field{Type: String}
		more["since"] = Field{Type: Time}
		return more
	}
	return Catalog{
		NoData: {
			Code: NoData, ID: 2_000_000_001, Name: "Rule without data", Names: map[string]string{"zh": "规则无数据"},
			Category: category, Retention: DefaultRetention, Fields: fields(map[string]Field{}),
		},
		RuleFailed: {
			Code: RuleFailed, ID: 2_000_000_002, Name: "Rule failed", Names: map[string]string{"zh": "规则运行失败"},
			Category: category, Retention: DefaultRetention,
			Fields: fields(map[string]Field{"code": {Type: String}, "error": {Type: String}}),
		},
		ItemEvent: {
			Code: ItemEvent, ID: 2_000_000_003, Name: "Event of an item", Names: map[string]string{"zh": "工作项事件"},
			Category: category, Retention: DefaultRetention,
			Fields: map[string]Field{
				"queue": {Type: String, Required: true}, "item": {Type: String, Required: true}, "event": {Type: String, Required: true},
				"move": {Type: Int, Required: true}, "at": {Type: Time, Required: true}, "attempt": {Type: Int}, "failures": {Type: Int}, "suspends": {Type: Int},
				"assignee": {Type: String}, "by": {Type: String}, "note": {Type: String}, "payload": {Type: String},
			},
		},
	}
}

// Reserved tells whether the code belongs to Tallyman, so that a site cannot use it for a type of its own.
func Reserved(code string) bool { return strings.HasPrefix(code, ReservedPrefix) }

// plain has the fields of Type without its methods.
type plain Type

type wire struct {
	plain
	Retention string `json:"retention,omitempty"`
}

// MarshalJSON writes the retention as a text such as "72h".
func (t Type) MarshalJSON() ([]byte, error) {
	return json.Marshal(wire{plain: plain(t), Retention: strictyaml.FormatDuration(t.Retention)})
}

// UnmarshalJSON reads the retention as a text with the units s, m, h and d. Without one it sets DefaultRetention.
func (t *Type) UnmarshalJSON(text []byte) error {
	var w wire
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*t = Type(w.plain)
	t.Retention = DefaultRetention
	if w.Retention != "" {
		d, err := strictyaml.ParseDuration(w.Retention)
		if err != nil {
			return fmt.Errorf("retention: %w", err)
		}
		t.Retention = d
	}
	return nil
}

type fileSpec struct {
	Types []*strictyaml.Node `yaml:"types,required"`
}

// typeSpec is the written form of a type.
type typeSpec struct {
	Type
	Expires time.Duration `yaml:"expires" min:"1m" max:"3650d"` // The name that rules and senders use for the retention.
}

// Check is a check of a type that needs more than the type itself, such as the sinks of a site.
type Check func(*Type) []Fault

// OnSinks returns a check of the sinks that types name.
func OnSinks(sinks deliver.Sinks) Check {
	return func(t *Type) []Fault { return t.CheckSinks(sinks) }
}

// Load reads the catalogue from a file (configs/types.yaml is an example). Where there are problems, the catalogue
// holds only the sound types.
func Load(path string, more ...Check) (Catalog, problem.List) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, problem.List{{Code: "file_unreadable", File: path, Message: err.Error()}}
	}
	return Parse(path, src, more...)
}

// Parse is Load for a file in memory. name is for messages.
func Parse(name string, src []byte, more ...Check) (Catalog, problem.List) {
	f, problems := strictyaml.Parse(name, src)
	if f == nil {
		return nil, problems
	}
	var spec fileSpec
	problems = f.Decode(f.Root, &spec)
	types := Catalog{}
	byID := map[int64]string{}
	for _, n := range spec.Types {
		s := typeSpec{Type: Type{Retention: DefaultRetention}}
		found := f.Decode(n, &s)
		if s.Expires != 0 {
			s.Retention = s.Expires
		}
		t := s.Type
		if len(found) == 0 {
			found = check(f, n, t, types, byID)
		}
		for i := 0; i < len(more) && len(found) == 0; i++ {
			found = placed(f, n, more[i](&t))
		}
		if len(found) > 0 {
			problems = append(problems, found...)
			continue
		}
		types[t.Code] = t
		byID[t.ID] = t.Code
	}
	return types, problems
}

// check checks a decoded type by itself, and against the types that come before it in the file.
func check(f *strictyaml.File, n *strictyaml.Node, t Type, types Catalog, byID map[int64]string) problem.List {
	l := placed(f, n, t.Validate())
	if again := n.Get("expires"); again != nil && n.Get("retention") != nil {
		l = append(l, f.Problem(again, CodeConflict, "expires and retention are two words for how long a notice lives", "keep one"))
	}
	if _, taken := types[t.Code]; taken {
		l = append(l, f.Problem(n.Get("code"), CodeDuplicateID, fmt.Sprintf("the type %s is there twice", t.Code), "codes are unique"))
	}
	if other, taken := byID[t.ID]; taken {
		l = append(l, f.Problem(n.Get("id"), CodeDuplicateID, fmt.Sprintf("the id %d belongs to %s", t.ID, other), "ids are unique"))
	}
	return l
}

// placed turns faults of a type into problems with places in the file.
func placed(f *strictyaml.File, n *strictyaml.Node, faults []Fault) problem.List {
	var l problem.List
	for _, fault := range faults {
		at, near := n.Walk(fault.Field)
		switch {
		case at == nil:
			l = append(l, f.Problem(near, fault.Code, fault.Message, fault.Hint))
		case fault.Offset > 0:
			l = append(l, f.ProblemIn(at, fault.Offset, fault.Code, fault.Message, fault.Hint))
		default:
			l = append(l, f.Problem(at, fault.Code, fault.Message, fault.Hint))
		}
	}
	return l
}

// The codes of a type's faults, in addition to the codes of strictyaml.
const (
	CodeBadName     = "bad_name"
	CodeBadID       = "bad_id"
	CodeDuplicateID = "duplicate_id"
	CodeReserved    = "reserved_code"
	CodeConflict    = deliver.CodeConflict
)

var (
	codePattern  = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)
	fieldPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	kinds        = []FieldKind{String, Int, Decimal, Bool, Time}
)

const (
	leastRetention = time.Minute
	mostRetention  = 3650 * 24 * time.Hour
)

// Fault says what is wrong with one field of a type. Field is a path such as "fields.qty".
type Fault struct {
	Field, Code, Message, Hint string
	Offset                     int // In a template: the place of the fault, in characters from its start.
}

// IsLanguage tells whether the text is the code of a language, such as zh or pt-BR.
func IsLanguage(s string) bool { return message.IsLanguage(s) }

// Validate returns every fault of the type by itself. The API calls it too, for types that come from no file.
func (t Type) Validate() []Fault {
	var l []Fault
	fail := func(field, code, message, hint string) {
		l = append(l, Fault{Field: field, Code: code, Message: message, Hint: hint})
	}
	if !codePattern.MatchString(t.Code) {
		fail("code", CodeBadName, fmt.Sprintf("%q cannot be the code of a type", t.Code), "capitals, digits and _, at most 64, beginning with a capital, such as REP_NOTICE")
	}
	if Reserved(t.Code) {
		fail("code", CodeReserved, "codes that begin with "+ReservedPrefix+" are Tallyman's own", "choose another code; the built-in types need no entry")
	}
	for _, own := range BuiltIn() {
		if t.ID == own.ID {
			fail("id", CodeDuplicateID, fmt.Sprintf("the id %d belongs to the built-in type %s", t.ID, own.Code), "choose another id")
		}
	}
	if t.ID < 1 {
		fail("id", CodeBadID, fmt.Sprintf("%d cannot be the id of a type", t.ID), "a number from 1 on, unique among the types")
	}
	if strings.TrimSpace(t.Name) == "" {
		fail("name", strictyaml.CodeMissing, "the type has no name", "write the name that people use, such as Replenishment notice")
	}
	for _, lang := range slices.Sorted(maps.Keys(t.Names)) {
		if !IsLanguage(lang) {
			fail("names."+lang, CodeBadName, fmt.Sprintf("%q is no language", lang), "a code such as en, zh or pt-BR")
		}
	}
	if t.Retention < leastRetention || t.Retention > mostRetention {
		fail("retention", strictyaml.CodeOutOfRange, fmt.Sprintf("a retention of %s", strictyaml.FormatDuration(t.Retention)), "between 1m and 3650d")
	}
	for _, name := range t.FieldNames() {
		if !fieldPattern.MatchString(name) {
			fail("fields."+name, CodeBadName, fmt.Sprintf("%q cannot name a field", name), "letters, digits and _, at most 64, beginning with a letter or _")
		}
		if !slices.Contains(kinds, t.Fields[name].Type) {
			fail("fields."+name+".type", strictyaml.CodeEnum, fmt.Sprintf("there is no field type %q", t.Fields[name].Type),
				"one of string, int, decimal, bool, time")
		}
	}
	return append(l, t.validateDefaults()...)
}
