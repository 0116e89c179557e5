package row

import (
	"strings"
	"time"
	"unsafe"

	"github.com/cockroachdb/apd/v3"
)

// Column is one column of a prepared probe.
type Column struct {
	Name     string // In lower case.
	Kind     Kind   // The kind of its values that are not NULL.
	DBType   string // The database's own name of the type, for messages.
	Nullable bool   // False only where the database says NOT NULL.
	// Zone is the time zone in which the scanner read the times of a column without a zone. nil for instants.
	Zone *time.Location
	// Declared tells that the rule has declared Kind. Otherwise the kind comes from the database.
	Declared bool
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

// Size returns about how many bytes a clone takes.
func (r *Row) Size() int {
	size := 0
	for i := range r.Values {
		size += int(unsafe.Sizeof(Value{})) + r.Values[i].Size()
	}
	return size
}

// Clone returns a copy of the row that stays valid after the scan moves on.
func (r *Row) Clone() *Row {
	c := &Row{Columns: r.Columns, Values: make([]Value, len(r.Values))}
	for i, v := range r.Values {
		c.Values[i] = v.Clone()
	}
	return c
}

// Value is one value of a row. The zero Value is NULL. A Value is small and passed by value, so numbers are never
// boxed.
type Value struct {
	kind  Kind
	scale int32        // For Decimal: digits after the point. For Time: nanoseconds within the second.
	num   int64        // For Bool, Int, Duration (ns), Time and Date (seconds since 1970), and Decimal (unscaled).
	flt   float64      // For Float.
	big   *apd.Decimal // For a Decimal that is NaN, infinite, or too large for num and scale. Nobody may change it.
	str   string       // For Text, Bytes and JSON. It may point into the driver's buffer.
}

// BoolOf makes a Bool.
func BoolOf(b bool) Value {
	if b {
		return Value{kind: Bool, num: 1}
	}
	return Value{kind: Bool}
}

// IntOf makes an Int.
func IntOf(n int64) Value { return Value{kind: Int, num: n} }

// FloatOf makes a Float.
func FloatOf(f float64) Value { return Value{kind: Float, flt: f} }

// DecimalOf makes the Decimal unscaled / 10^scale; scale is not negative.
func DecimalOf(unscaled int64, scale int32) Value {
	return Value{kind: Decimal, num: unscaled, scale: scale}
}

// BigDecimalOf makes a Decimal of any size. It keeps d, so the caller must not change d afterwards.
func BigDecimalOf(d *apd.Decimal) Value { return Value{kind: Decimal, big: d} }

// TextOf makes a Text.
func TextOf(s string) Value { return Value{kind: Text, str: s} }

// BytesOf makes Bytes from the raw bytes held by s.
func BytesOf(s string) Value { return Value{kind: Bytes, str: s} }

// JSONOf makes a JSON value from its text.
func JSONOf(s string) Value { return Value{kind: JSON, str: s} }

// DurationOf makes a Duration.
func DurationOf(d time.Duration) Value { return Value{kind: Duration, num: int64(d)} }

// TimeOf makes a Time.
func TimeOf(t time.Time) Value {
	return Value{kind: Time, num: t.Unix(), scale: int32(t.Nanosecond())} //nolint:gosec // under 1e9
}

// DateOf makes a Date of the day that t shows in its own zone.
func DateOf(t time.Time) Value {
	y, m, d := t.Date()
	return Value{kind: Date, num: time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix()}
}

// Kind returns the kind of the value. It is Null for NULL.
func (v Value) Kind() Kind { return v.kind }

// IsNull tells whether the value is NULL.
func (v Value) IsNull() bool { return v.kind == Null }

// Bool returns a Bool's value.
func (v Value) Bool() bool { return v.num != 0 }

// Int returns an Int's value.
func (v Value) Int() int64 { return v.num }

// Float returns a Float's value.
func (v Value) Float() float64 { return v.flt }

// Text returns the text of a Text or JSON and the raw bytes of Bytes. It is valid until the scan moves on.
func (v Value) Text() string { return v.str }

// Duration returns a Duration's value.
func (v Value) Duration() time.Duration { return time.Duration(v.num) }

// Time returns a Time's instant, or a Date's midnight, in UTC.
func (v Value) Time() time.Time { return time.Unix(v.num, int64(v.scale)).UTC() }

// Clone returns a copy of the value that stays valid after the scan moves on.
func (v Value) Clone() Value {
	v.str = strings.Clone(v.str)
	return v
}

// Size returns about how many bytes the value holds outside of the Value itself.
func (v Value) Size() int {
	if v.big != nil {
		return int(v.big.NumDigits())
	}
	return len(v.str)
}

// Kind is the type of a value as conditions see it.
type Kind uint8

// The kinds. A column has the kind of its non-null values; a value is Null or of its column's kind.
const (
	Null Kind = iota
	Bool
	Int
	Float
	Decimal
	Text
	Bytes
	Time     // an instant; the source's time zone applies to a database timestamp without a zone
	Date     // a day, which is kept as its midnight in UTC
	Duration // an interval without months
	JSON
)

var kindNames = [...]string{"null", "bool", "int", "float", "decimal", "text", "bytes", "time", "date", "duration", "json"}

// String returns the name that messages use.
func (k Kind) String() string { return kindNames[k] }

// IsNumber tells whether values of the kind compare with numbers of the other numeric kinds.
func (k Kind) IsNumber() bool { return k == Int || k == Float || k == Decimal }

// kindOf is the inverse of String.
func kindOf(name string) (Kind, bool) {
	for i, n := range kindNames {
		if n == name {
			return Kind(i), true
		}
	}
	return Null, false
}

// Data returns the value in the form that a notice carries. Decimals and times are texts, so that no digits are lost in
// a float.
func (v Value) Data() any {
	switch v.Kind() {
	case Null:
		return nil
	case Int:
		return v.Int()
	case Bool:
		return v.Bool()
	default:
		return v.String()
	}
}
