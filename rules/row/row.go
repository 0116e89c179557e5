package row

import "unsafe"

// Column is one column of a prepared probe.
type Column struct {
	Name     string // folded to lower case
	Kind     Kind   // the kind of its non-null values
	DBType   string // the database's own name of the type, for messages
	Nullable bool   // false only where the database says NOT NULL
}

// Row is one row of a probe. Values[i] belongs to Columns[i].
type Row struct {
	Columns []Column
	Values  []Value
}

// New returns a row of NULLs for the columns.
func New(columns []Column) *Row {
	return &Row{Columns: columns, Values: make([]Value, len(columns))}
}

// Index returns the position of the column with that (lower case) name, or -1.
func (r *Row) Index(name string) int { return Index(r.Columns, name) }

// Index returns the position of the column with that (lower case) name, or -1.
func Index(columns []Column, name string) int {
	for i := range columns {
		if columns[i].Name == name {
			return i
		}
	}
	return -1
}

// Size is about how many bytes a clone takes.
func (r *Row) Size() int {
	size := 0
	for i := range r.Values {
		size += int(unsafe.Sizeof(Value{})) + r.Values[i].Size()
	}
	return size
}

// Clone returns a copy that stays valid after the scan moves on.
func (r *Row) Clone() *Row {
	c := &Row{Columns: r.Columns, Values: make([]Value, len(r.Values))}
	for i, v := range r.Values {
		c.Values[i] = v.Clone()
	}
	return c
}
