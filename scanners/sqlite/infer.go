package sqlite

import (
	"strings"

	"tallyman/rules/probe"
	"tallyman/rules/row"
)

// inferred returns the kind of the i-th column of the statement by the form of its expression, Null where that is open.
func (d *describer) inferred(sql string, l list, i int) row.Kind {
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

// inference finds the kinds of expressions of one statement.
type inference struct {
	d   *describer
	sql string
	end int // of the select list
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
	case t.Kind == probe.Number && (strings.HasPrefix(t.Text, "0x") || !strings.ContainsAny(t.Text, ".eE")):
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

// column asks SQLite for the declared type of a column, by selecting it beside what the statement selects.
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

// operators returns the kind of an expression whose outermost part is an operator, if it is one.
func (in inference) operators(e []probe.Token) (row.Kind, bool) {
	var truth, arithmetic, concat bool
	var operands [][]probe.Token
	depth, from := 0, 0
	for i := 0; i < len(e); i++ {
		t := e[i]
		width := 1 // tokens of the operator
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
			return row.Null, true // -> and ->> of JSON: whatever is in there
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

// calculation returns the kind of what is made of the operands; an empty one stands before a sign.
func (in inference) calculation(operands [][]probe.Token) row.Kind {
	var kinds []row.Kind
	for _, o := range operands {
		if len(o) > 0 {
			kinds = append(kinds, in.kind(o))
		}
	}
	return in.number(kinds)
}

// pair tells whether two symbols stand side by side, as one operator.
func pair(e []probe.Token, i int, first, second string) bool {
	return i+1 < len(e) && e[i].Is(first) && e[i+1].Is(second) && e[i+1].Start == e[i].End()
}

// number returns the kind of a calculation: Decimal holds whatever comes of operands that are not known.
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
