package condition

import (
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/parser/operator"
)

// Entry is an operator, function or method as the guide in docs/rule-reference.md shows it. Package guide runs the examples as tests.
type Entry struct {
	Name      string
	Signature string // how it is written, with the kinds of its arguments
	Meaning   string
	Example   string
	Gives     string // what the example gives
	Rows      bool   // the example is over a result
}

// Chapter is a table of the guide.
type Chapter struct {
	Title   string
	Entries []Entry
}

// Reference is everything that expressions have, in the order of the guide.
func Reference() []Chapter {
	return []Chapter{
		{"Operators", operatorEntries},
		{"Numbers", entriesOf(numberFunctions, "min", "max", "sum", "mean", "median", "bitand", "bitor", "bitxor", "bitnand", "bitnot", "bitshl", "bitshr", "bitushr")},
		{"Texts", entriesOf(textFunctions, "split", "splitAfter", "join", "toJSON", "fromJSON", "toBase64", "fromBase64")},
		{"Times and durations", append(entriesOf(timeFunctions, "date"), methodEntries()...)},
		{"Lists", entriesOf[function](nil, "first", "last", "take", "reverse", "sort", "uniq", "get")},
		{"Predicates", predicateEntries()},
	}
}

// Precedence returns the operators in groups, those that bind least first.
func Precedence() [][]string {
	groups := map[int][]string{}
	for name, op := range operator.Binary {
		groups[op.Precedence] = append(groups[op.Precedence], name)
	}
	for name, op := range operator.Unary {
		groups[op.Precedence] = append(groups[op.Precedence], name+"x")
	}
	var all [][]string
	for _, level := range slices.Sorted(maps.Keys(groups)) {
		all = append(all, slices.Sorted(slices.Values(groups[level])))
	}
	return all
}

// entriesOf are the entries of a table of functions and of some more, by name.
func entriesOf[F any](table map[string]F, more ...string) []Entry {
	var l []Entry
	for _, name := range append(slices.Sorted(maps.Keys(table)), more...) {
		e := functionEntries[name]
		e.Name = name
		if e.Signature == "" {
			e.Signature = signature(name)
		}
		l = append(l, e)
	}
	return l
}

// predicateEntries are those of the functions with a predicate. sum and count are there without one, too.
func predicateEntries() []Entry {
	l := entriesOf(predicateFunctions, "count of rows")
	for i := range l {
		if l[i].Name == "sum" {
			l[i] = sumOfRows
		}
	}
	return l
}

// signature writes a function's params in words.
func signature(name string) string {
	fn := (*compiler)(nil).function(name)
	if fn == nil {
		return name + "()"
	}
	letters, least, most := params(fn.params)
	var args []string
	for i := range letters {
		arg := kindWords[letters[i]]
		if i >= least {
			arg += "?"
		}
		args = append(args, arg)
	}
	if most == maxParts {
		args = append(args, "…")
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

var kindWords = map[byte]string{
	't': "text", 'i': "int", 'n': "number", 'l': "list", 'r': "list", 'x': "value", 'a': "value", 'c': "text or list",
}

func methodEntries() []Entry {
	var l []Entry
	for _, name := range slices.Sorted(maps.Keys(timeMethods)) {
		e := timeMethodEntries[name]
		e.Name, e.Signature = name, "time."+name+"()"
		l = append(l, e)
	}
	l = append(l, timeMethodEntries["Format"], timeMethodEntries["In"])
	for _, name := range slices.Sorted(maps.Keys(durationMethods)) {
		e := durationMethodEntries[name]
		e.Name, e.Signature = name, "duration."+name+"()"
		l = append(l, e)
	}
	return l
}
