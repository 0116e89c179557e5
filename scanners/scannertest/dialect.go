package scannertest

import (
	"cmp"
	"fmt"
	"strings"

	"tallyman/rules/row"
)

// Dialect describes how one kind of database differs from the others, and opens the database under test.
type Dialect struct {
	New func(t T) Database
	// Version is a SELECT of one text: the version of the server.
	Version string
	// From follows a SELECT without a table; "" if none is needed.
	From string
	// Literals are expressions for one value of each kind, by the names of literalKinds. A kind without a literal is not
	// tried.
	Literals map[string]string
	// LiteralKinds are the kinds of literals that the database sees as another kind than usual.
	LiteralKinds map[string]row.Kind
	// Types names the column types of the sample table: id, bool, small, big, ratio, decimal, text, bytes, date, time,
	// zoned, json. If id is missing, its type is integer.
	Types map[string]string
	Kinds map[string]row.Kind // of columns in Types that the database sees as another kind than usual
	Bytes string              // the literal of the bytes 00 ff
	Zoned string              // the literal of 2026-06-01T08:00:00+08:00
	// Value writes the literal of a sample's text for a column of the type. The suite does not call Value for NULL,
	// bytes and zoned. If Value is nil, numbers, TRUE and FALSE are written as they are, and every other text is
	// quoted.
	Value func(name, text string) string
	// Series is a SELECT of n rows with the columns n (1 … n, in any order), sku, qty (a decimal) and note.
	Series func(n int) string
	// Repeat is an expression for a text of %d ASCII characters, which the database makes when the statement runs.
	// LargeSetup lets the database make large texts.
	Repeat     string
	LargeSetup string
	// Untold tells that the driver does not know the column of a value that is larger than the limit of a row.
	Untold bool
	// Stream is how many rows a long scan has; 0 means a million.
	Stream int
	// Endless is a SELECT that runs for hours before its first row. Trickle is a SELECT that runs for hours after its
	// first row.
	Endless, Trickle string
	// Refused are SELECTs that the driver refuses before the server sees them.
	Refused []string
	// Writers are SELECTs that call functions, and that must be refused as writes. WriterSetup creates the functions. Both
	// may be empty.
	WriterSetup string
	Writers     []string
	// Leaks are SELECTs that try to change the session. LeakSetup creates their functions. State is a SELECT of one
	// text, which must be the same before and after them.
	LeakSetup string
	Leaks     []string
	State     string
	// NoRows tells that the database cannot compare rows, as in (a, b) > (x, y).
	NoRows bool
	// NoNullKind tells that a NULL parameter has no kind that can be compared with numbers.
	NoNullKind bool
	// EmptyIsNull tells that an empty text is NULL.
	EmptyIsNull bool

	// The abilities that the driver lacks, besides scanning. Each must agree with the driver, so that a method that was
	// forgotten fails the suite.
	NoSessions, NoExplain, NoInspect bool
	// Schema is the schema of the tables that a test creates, as the prefix of their names. A Database with a method
	// Schema is asked instead.
	Schema string
	// StagedInSchema tells that a staged table hides the real one even where a statement names the schema.
	StagedInSchema bool
	// Stock makes the table stock: id, the primary key that the database numbers, wh_id and bin_code (NOT NULL, unique
	// together), qty (a decimal, NOT NULL, below 1000), reserved (a decimal, NOT NULL, 0 by default), free (generated: qty
	// - reserved).
	Stock string
}

// schema returns the schema of the tables that a test creates.
func schema(db Database, d Dialect) string {
	if named, ok := db.(interface{ Schema() string }); ok {
		return named.Schema()
	}
	return d.Schema
}

// typeOf returns the type of a column of the sample table.
func (d *Dialect) typeOf(name string) string {
	if name == "id" {
		return cmp.Or(d.Types[name], "integer")
	}
	return d.Types[name]
}

// value returns a literal for a column of the sample table.
func (d *Dialect) value(name, text string) string {
	switch {
	case text == "NULL":
		return text
	case name == "bytes":
		return d.Bytes
	case name == "zoned":
		return d.Zoned
	case d.Value != nil:
		return d.Value(name, text)
	}
	return plainValue(name, text)
}

// plainValue returns the literal that most databases take.
func plainValue(name, text string) string {
	switch name {
	case "id", "small", "big", "ratio", "decimal":
		return text
	case "bool":
		return strings.ToUpper(text)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// digits returns an expression and the tables behind FROM. Over all rows of the tables, the expression has each number
// from 0 to 10^count - 1 once. digits is for databases that have no other unlimited way to count. zero is the literal
// of a 0 whose type holds large numbers.
func digits(count int, zero, from string) (number, tables string) {
	selects := []string{"SELECT " + zero + " AS i" + from}
	for i := 1; i < 10; i++ {
		selects = append(selects, fmt.Sprintf("SELECT %d%s", i, from))
	}
	digit := strings.Join(selects, " UNION ALL ")
	numbers, joins := make([]string, count), make([]string, count)
	for i := range count {
		numbers[i] = fmt.Sprintf("1%s * d%d.i", strings.Repeat("0", i), i)
		joins[i] = fmt.Sprintf("(%s) d%d", digit, i)
	}
	return strings.Join(numbers, " + "), strings.Join(joins, " CROSS JOIN ")
}

// digitSeries sets the statements of a Dialect that are made with digits. whole is a format that makes a whole number
// of an expression. sku is the expression of the column sku.
func digitSeries(d *Dialect, zero, whole, sku string) {
	series := func(count int) (sql string) {
		number, tables := digits(count, zero, d.From)
		return "(SELECT " + fmt.Sprintf(whole, "1 + "+number) + " AS n FROM " + tables + ")"
	}
	d.Series = func(n int) string {
		return fmt.Sprintf("SELECT n, %s AS sku, n * 0.25 AS qty, 'a note' AS note FROM %s s WHERE n <= %d", sku, series(len(fmt.Sprint(n))), n)
	}
	const hours = 12 // digits: so many that counting takes hours
	d.Endless = "SELECT count(*) AS n FROM " + series(hours) + " s WHERE n > 0"
	d.Trickle = "SELECT n FROM " + series(1) + " s WHERE n = 1 UNION ALL SELECT n FROM " + series(hours) + " s WHERE n < 0"
}
