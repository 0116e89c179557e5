package sqlite

import (
	"tallyman/rules/probe"
	"tallyman/rules/row"
)

// call returns the kind of an expression that is one function call, if it is one. FILTER (…) and OVER … may follow.
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

// unique drops the DISTINCT of an aggregate's argument.
func unique(arg []probe.Token) []probe.Token {
	if len(arg) > 1 && arg[0].Is("distinct") {
		return arg[1:]
	}
	return arg
}

// cast returns the kind of the inside of CAST(… AS type).
func cast(inner []probe.Token) row.Kind {
	for i := len(inner) - 2; i > 0; i-- {
		if inner[i].Is("as") {
			return castKind(inner[i+1].Text)
		}
	}
	return row.Null
}

// functionKinds holds the functions whose result has the same kind whatever they are given.
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
