package sqlite

import (
	"strings"

	"tallyman/rules/row"
)

// declaredKind returns the kind of a column by its declared type, Null where that says nothing. The order matters where
// a name holds several of the words, as SQLite's own affinities do.
func declaredKind(declared string) row.Kind {
	name, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(declared)), "(")
	name = strings.TrimSpace(name)
	switch {
	case strings.Contains(name, "BOOL"):
		return row.Bool
	case name == "DATE":
		return row.Date
	case strings.HasPrefix(name, "DATETIME"), strings.HasPrefix(name, "TIMESTAMP"):
		return row.Time
	case name == "JSON":
		return row.JSON
	case name == "INTERVAL":
		return row.Null
	case strings.Contains(name, "INT"):
		return row.Int
	case strings.Contains(name, "CHAR"), strings.Contains(name, "CLOB"), strings.Contains(name, "TEXT"), name == "UUID":
		return row.Text
	case strings.Contains(name, "BLOB"), strings.Contains(name, "BINARY"):
		return row.Bytes
	case strings.Contains(name, "REAL"), strings.Contains(name, "FLOA"), strings.Contains(name, "DOUBLE"):
		return row.Float
	case strings.HasPrefix(name, "DEC"), strings.HasPrefix(name, "NUM"), name == "MONEY":
		return row.Decimal
	}
	return row.Null
}

// castKind returns the kind of CAST(… AS target). Unlike a column, a cast to a date or time makes a number of it.
func castKind(target string) row.Kind {
	switch kind := declaredKind(target); kind {
	case row.Date, row.Time, row.JSON:
		return row.Null
	default:
		return kind
	}
}

// unify returns the kind that values of all these kinds fit, Null where there is none. NULLs among them do not count.
func unify(kinds []row.Kind) row.Kind {
	result := row.Null
	for _, k := range kinds {
		switch {
		case k == null:
		case k == row.Null:
			return row.Null
		case result == row.Null || result == k:
			result = k
		case result.IsNumber() && k.IsNumber():
			result = widest(result, k)
		default:
			return row.Null
		}
	}
	return result
}

// null is the kind of the literal NULL while kinds are inferred; row.Null stands for not known.
const null = row.Kind(255)

// widest returns the kind that holds numbers of both.
func widest(a, b row.Kind) row.Kind {
	switch {
	case a == b:
		return a
	case a == row.Decimal || b == row.Decimal:
		return row.Decimal
	}
	return row.Float
}
