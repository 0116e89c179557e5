// Package catalog is the type catalogue: what kinds of notices a site knows and which typed fields each carries.
package catalog

import "time"

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

// Field is one data field of a type.
type Field struct {
	Type     FieldKind `json:"type" yaml:"type"`
	Required bool      `json:"required,omitempty" yaml:"required,omitempty"`
}

// Type is an entry of the catalogue (DESIGN section 5).
type Type struct {
	Code      string            `json:"code" yaml:"code"` // e.g. REP_NOTICE, unique
	ID        int64             `json:"id" yaml:"id"`     // the WMS's numeric id, unique
	Name      string            `json:"name" yaml:"name"`
	Names     map[string]string `json:"names,omitempty" yaml:"names,omitempty"` // by language
	Category  string            `json:"category,omitempty" yaml:"category,omitempty"`
	Retention time.Duration     `json:"-" yaml:"-"` // how long its notices live unless a rule says otherwise
	Fields    map[string]Field  `json:"fields,omitempty" yaml:"fields,omitempty"`
}

// Catalog is the set of types by code.
type Catalog map[string]Type
