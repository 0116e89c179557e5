package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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

// DefaultRetention is how long notices live of a type that does not say: as long as an inbox looks back.
const DefaultRetention = 72 * time.Hour

// Field is one data field of a type.
type Field struct {
	Type     FieldKind `json:"type" yaml:"type,required" enum:"string,int,decimal,bool,time"`
	Required bool      `json:"required,omitempty" yaml:"required"`
}

// Type is an entry of the catalogue. In JSON its retention is a text such as "72h".
type Type struct {
	Code      string            `json:"code" yaml:"code,required"` // e.g. REP_NOTICE, unique
	ID        int64             `json:"id" yaml:"id,required"`     // the WMS's numeric id, unique
	Name      string            `json:"name" yaml:"name,required"`
	Names     map[string]string `json:"names,omitempty" yaml:"names"` // by language
	Category  string            `json:"category,omitempty" yaml:"category"`
	Retention time.Duration     `json:"-" yaml:"retention" min:"1m" max:"3650d"` // how long its notices live unless a rule says otherwise
	Fields    map[string]Field  `json:"fields,omitempty" yaml:"fields"`
}

// FieldNames returns the names of the data fields, sorted: the order in which notices carry them.
func (t Type) FieldNames() []string { return slices.Sorted(maps.Keys(t.Fields)) }

// Catalog is the set of types by code.
type Catalog map[string]Type

// Codes returns the codes of the types, sorted.
func (c Catalog) Codes() []string { return slices.Sorted(maps.Keys(c)) }

// ReservedPrefix begins the codes of Tallyman's own types, and of no others.
const ReservedPrefix = "TALLYMAN_"

// The codes of the types that a rule's own state is told with.
const (
	NoData     = ReservedPrefix + "NO_DATA"     // no_data: alert
	RuleFailed = ReservedPrefix + "RULE_FAILED" // on_error: alert
)

// BuiltIn returns Tallyman's own types, which every catalogue has.
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
	}
}

// Reserved tells whether the code is one that a site cannot give to a type of its own.
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

// UnmarshalJSON reads the retention as a text with the units s, m, h and d; DefaultRetention where there is none.
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
