package sqlite

import (
	"strings"

	"tallyman/rules/probe"
	"tallyman/rules/row"
)

// inferred returns the kind of the i-th column of the statement, by the form of its expression. Null means unknown.
func (d *describer) inferred(sql string, l resultList, i int) row.Kind {
	if i >= len(l.items) || len(l.items[i]) == 0 {
		return row.Null
	}
	in := inference{d: d, sql: sql, end: l.end}
	kind := in.kind(l.items[i])
	if kind == null {
		return row.Null
	}
	return kind
}

// inference finds the kinds of expressions in one statement.
type inference struct {
	d   *describer
	sql string
	end int // the byte where the select list ends
}

func (in inference) kind(e []probe.Token) row.Kind {
	for len(e) > 2 && e[0].Is("(") && closing(e, 0) == len(e)-1 {
		e = e[1 : len(e)-1]
	}
	if len(e) > 2 && e[len(e)-2].Is("collate") {
		e = e[:len(e)-2]
	}
	switch {
	case len(e) == 0 || e[0].Is("select"):
		return row.Null
	case len(e) == 1 && (e[0].Kind == probe.Number || e[0].Kind == probe.String || e[0].Kind == probe.Word):
		if kind := literal(e[0]); kind != row.Null {
			return kind
		}
	case e[0].Is("case") && caseEnd(e) == len(e)-1:
		return in.branches(e)
	}
	if kind, ok := in.operators(e); ok {
		return kind
	}
	if kind, ok := in.call(e); ok {
		return kind
	}
	return in.column(e)
}

func literal(t probe.Token) row.Kind {
	switch {
	case t.Kind == probe.String:
		return row.Text
	case t.Kind == probe.Number && (strings.HasPrefix(strings.ToLower(t.Text), "0x") || !strings.ContainsAny(t.Text, ".eE")):
		return row.Int
	case t.Kind == probe.Number:
		return row.Float
	case t.Is("null"):
		return null
	case t.Is("true"), t.Is("false"):
		return row.Bool
	}
	return row.Null
}

// column asks SQLite for the declared type of a column. For this, it adds the column to the select list of the
// statement.
func (in inference) column(e []probe.Token) row.Kind {
	for i, t := range e {
		name := t.Kind == probe.Word || t.Kind == probe.Quoted
		if i%2 == 0 && !name || i%2 == 1 && !t.Is(".") {
			return row.Null
		}
	}
	name := in.sql[e[0].Start:e[len(e)-1].End()]
	infos, err := in.d.columns(in.sql[:in.end] + ", " + name + in.sql[in.end:])
	if err != nil || len(infos) == 0 {
		return row.Null
	}
	return declaredKind(infos[len(infos)-1].DeclType)
}

// branches returns the kind of CASE … END.
func (in inference) branches(e []probe.Token) row.Kind {
	var kinds []row.Kind
	depth, from := 0, -1
	for i, t := range e {
		switch {
		case t.Is("(") || t.Is("case"):
			depth++
		case t.Is(")"):
			depth--
		case t.Is("end"):
			depth--
			if depth == 0 && from >= 0 {
				kinds = append(kinds, in.kind(e[from:i]))
			}
		case depth == 1 && (t.Is("then") || t.Is("else")):
			if from >= 0 {
				kinds = append(kinds, in.kind(e[from:i]))
			}
			from = i + 1
		case depth == 1 && t.Is("when") && from >= 0:
			kinds = append(kinds, in.kind(e[from:i]))
			from = -1
		}
	}
	return unify(kinds)
}

// operators returns the kind of an expression whose outermost part is an operator. operators returns false for other
// expressions.
func (in inference) operators(e []probe.Token) (row.Kind, bool) {
	var truth, arithmetic, concat bool
	var operands [][]probe.Token
	depth, from := 0, 0
	for i := 0; i < len(e); i++ {
		t := e[i]
		width := 1 // how many tokens the operator has
		switch {
		case t.Is("(") || t.Is("case"):
			depth++
			continue
		case t.Is(")") || t.Is("end"):
			depth--
			continue
		case depth > 0:
			continue
		case pair(e, i, "-", ">"):
			return row.Null, true // -> and ->> of JSON: the kind is unknown
		case pair(e, i, "|", "|"):
			concat = true
			i++
			continue
		case pair(e, i, "<", "<"), pair(e, i, ">", ">"):
			width = 2
		case t.Kind == probe.Word && truthWords[t.Name()], t.Kind == probe.Symbol && strings.Contains("<>=!", t.Text):
			truth = true
			continue
		case t.Kind != probe.Symbol || !strings.Contains("+-*/%&|~", t.Text):
			continue
		}
		arithmetic = true
		operands = append(operands, e[from:i])
		i += width - 1
		from = i + 1
	}
	switch {
	case truth:
		return row.Bool, true
	case arithmetic:
		return in.calculation(append(operands, e[from:])), true
	case concat:
		return row.Text, true
	}
	return row.Null, false
}

// calculation returns the kind of a calculation with these operands. A sign has no left operand, so that operand is
// empty: -x has the operands "" and x.
func (in inference) calculation(operands [][]probe.Token) row.Kind {
	var kinds []row.Kind
	for _, o := range operands {
		if len(o) > 0 {
			kinds = append(kinds, in.kind(o))
		}
	}
	return in.number(kinds)
}

// pair tells whether two symbols stand side by side as one operator.
func pair(e []probe.Token, i int, first, second string) bool {
	return i+1 < len(e) && e[i].Is(first) && e[i+1].Is(second) && e[i+1].Start == e[i].End()
}

// number returns the kind of a calculation. Decimal can hold any result if operands are unknown.
func (in inference) number(operands []row.Kind) row.Kind {
	if kind := unify(operands); kind == row.Int || kind == row.Float {
		return kind
	}
	return row.Decimal
}

var truthWords = map[string]bool{
	"and": true, "or": true, "not": true, "is": true, "in": true, "like": true, "glob": true, "match": true, "regexp": true,
	"between": true, "isnull": true, "notnull": true, "exists": true,
}

// closing returns the index of the parenthesis that closes the one at i, or -1.
func closing(e []probe.Token, i int) int {
	depth := 0
	for ; i < len(e); i++ {
		switch {
		case e[i].Is("("):
			depth++
		case e[i].Is(")"):
			depth--
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

// caseEnd returns the index of the END of the CASE that starts e, or -1.
func caseEnd(e []probe.Token) int {
	depth := 0
	for i, t := range e {
		switch {
		case t.Is("case"):
			depth++
		case t.Is("end"):
			depth--
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

// call returns the kind of an expression that is one function call, and false for other expressions. FILTER (…) and
// OVER … may follow the call.
func (in inference) call(e []probe.Token) (row.Kind, bool) {
	if len(e) < 3 || e[0].Kind != probe.Word || !e[1].Is("(") {
		return row.Null, false
	}
	end := closing(e, 1)
	if end < 0 || end+1 < len(e) && !e[end+1].Is("filter") && !e[end+1].Is("over") {
		return row.Null, false
	}
	name, inner := e[0].Name(), e[2:end]
	if name == "cast" {
		return cast(inner), true
	}
	if kind, ok := functionKinds[name]; ok {
		return kind, true
	}
	args := split(inner)
	switch name {
	case "sum":
		return in.number([]row.Kind{in.kind(unique(args[0]))}), true
	case "min", "max", "coalesce", "ifnull":
		return in.all(args), true
	case "abs", "nullif", "lag", "lead", "first_value", "last_value", "nth_value", "likely", "unlikely":
		return in.kind(args[0]), true
	case "iif", "if":
		return in.all(args[1:]), true
	}
	return row.Null, true
}

func (in inference) all(expressions [][]probe.Token) row.Kind {
	kinds := make([]row.Kind, len(expressions))
	for i, e := range expressions {
		kinds[i] = in.kind(unique(e))
	}
	return unify(kinds)
}

// unique removes the DISTINCT of an aggregate's argument.
func unique(arg []probe.Token) []probe.Token {
	if len(arg) > 1 && arg[0].Is("distinct") {
		return arg[1:]
	}
	return arg
}

// cast returns the kind of CAST(… AS type), from the tokens inside.
func cast(inner []probe.Token) row.Kind {
	for i := len(inner) - 2; i > 0; i-- {
		if inner[i].Is("as") {
			return castKind(inner[i+1].Text)
		}
	}
	return row.Null
}

// functionKinds has the functions whose result has the same kind for all arguments.
var functionKinds = map[string]row.Kind{
	"count": row.Int, "length": row.Int, "octet_length": row.Int, "instr": row.Int, "unicode": row.Int, "unixepoch": row.Int,
	"row_number": row.Int, "rank": row.Int, "dense_rank": row.Int, "ntile": row.Int, "json_array_length": row.Int,
	"random": row.Int, "sign": row.Int, "json_valid": row.Int,
	"avg": row.Float, "total": row.Float, "julianday": row.Float, "round": row.Float, "percent_rank": row.Float,
	"cume_dist": row.Float, "sqrt": row.Float, "exp": row.Float, "ln": row.Float, "log": row.Float, "log10": row.Float,
	"pow": row.Float, "power": row.Float,
	"lower": row.Text, "upper": row.Text, "substr": row.Text, "substring": row.Text, "trim": row.Text, "ltrim": row.Text,
	"rtrim": row.Text, "replace": row.Text, "printf": row.Text, "format": row.Text, "hex": row.Text, "quote": row.Text,
	"typeof": row.Text, "strftime": row.Text, "time": row.Text, "group_concat": row.Text, "string_agg": row.Text,
	"concat": row.Text, "concat_ws": row.Text, "char": row.Text,
	"json": row.JSON, "json_object": row.JSON, "json_array": row.JSON, "json_group_array": row.JSON, "json_group_object": row.JSON,
	"date": row.Date, "datetime": row.Time,
}

// declaredKind returns the kind of a column by its declared type, or Null if the type tells nothing. As in SQLite's own
// affinities, the order of the cases matters if a name contains several of the words.
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

// castKind returns the kind of CAST(… AS target). A cast to a date or time makes a number, unlike a column of that
// type.
func castKind(target string) row.Kind {
	switch kind := declaredKind(target); kind {
	case row.Date, row.Time, row.JSON:
		return row.Null
	default:
		return kind
	}
}

// unify returns the kind that fits values of all these kinds, or Null if there is none. Literal NULLs do not count.
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

// null is the kind of the literal NULL during the inference. row.Null means unknown.
const null = row.Kind(255)

// widest returns the kind that holds the numbers of both.
func widest(a, b row.Kind) row.Kind {
	switch {
	case a == b:
		return a
	case a == row.Decimal || b == row.Decimal:
		return row.Decimal
	}
	return row.Float
}
