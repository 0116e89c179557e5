// Package catalog is the type catalogue: what kinds of notices a site knows and which typed fields each carries.
package catalog

import (
	"maps"
	"slices"
	"time"
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
