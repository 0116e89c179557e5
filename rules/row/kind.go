package row

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
	Time     // an instant; a database timestamp without zone is taken as UTC
	Date     // a day, kept as its midnight in UTC
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
