package condition

import (
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/parser/operator"
)

// Entry describes an operator, function or method for the guide in docs/reference/rule-file.md. The tests of package
// docs/reference run the examples.
type Entry struct {
	Name      string
	Signature string // The written form, with the kinds of the arguments.
	Meaning   string
	Example   string
	Gives     string // The result of the example.
	Rows      bool   // The example is over a result.
}

// Chapter is one table of the guide.
type Chapter struct {
	Title   string
	Entries []Entry
}

// Reference returns all operators, functions and methods, in the order of the guide.
func Reference() []Chapter {
	return []Chapter{
		{"Operators", operatorEntries},
		{"Numbers", entriesOf(numberFunctions, "min", "max", "sum", "mean", "median", "bitand")},
		{"Texts", entriesOf(textFunctions, "split", "splitAfter", "join", "toJSON", "fromJSON", "toBase64", "fromBase64")},
		{"Times and durations", append(entriesOf(timeFunctions, "date"), methodEntries()...)},
		{"Lists", entriesOf[builtinFunction](nil, "first", "last", "take", "reverse", "sort", "uniq", "get")},
		{"Predicates", predicateEntries()},
	}
}

// Precedence returns the operators in groups of equal precedence. The group that binds least comes first.
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

// entriesOf returns the entries for the functions of a table, sorted by name, and for more names.
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

// predicateEntries returns the entries of the functions with a predicate. sum and count also have a form without one.
func predicateEntries() []Entry {
	l := entriesOf(predicateFunctions, "count of rows")
	for i := range l {
		if l[i].Name == "sum" {
			l[i] = sumOfRows
		}
	}
	return l
}

// signature returns the written form of a function, with words for its params.
func signature(name string) string {
	fn := findFunction(name)
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

// operatorEntries are the entries of the operators. Precedence says which operators bind tighter.
var operatorEntries = []Entry{
	{Name: "? :", Signature: "test ? a : b", Meaning: "a where the test is true, else b; also `if test { a } else { b }`", Example: `qty < 0 ? "below" : "above"`, Gives: "below"},
	{Name: "??", Signature: "a ?? b", Meaning: "b where a is NULL", Example: `wave_no ?? 0`, Gives: "0"},
	{Name: "or", Signature: "a or b, a || b", Meaning: "true where one is true", Example: `qty < 0 or held`, Gives: "true"},
	{Name: "and", Signature: "a and b, a && b", Meaning: "true where both are true", Example: `qty < 0 and zone == "A"`, Gives: "true"},
	{Name: "==", Signature: "a == b, a != b", Meaning: "equal, not equal", Example: `sku == "TEST-42"`, Gives: "true"},
	{Name: "<", Signature: "a < b, a <= b, a > b, a >= b", Meaning: "less, at most, more, at least: numbers, texts, times, durations; a < b < c means a < b and b < c", Example: `-10 < qty < 0`, Gives: "true"},
	{Name: "== nil", Signature: "a == nil, a != nil", Meaning: "is NULL, is not NULL", Example: `wave_no == nil`, Gives: "true"},
	{Name: "in", Signature: "a in list, a not in list", Meaning: "one of these", Example: `zone in ["A", "B"]`, Gives: "true"},
	{Name: "..", Signature: "a in low..high", Meaning: "a whole number of this range", Example: `lines in 1..10`, Gives: "true"},
	{Name: "startsWith", Signature: "text startsWith text", Meaning: "begins with the second text", Example: `sku startsWith "TEST-"`, Gives: "true"},
	{Name: "endsWith", Signature: "text endsWith text", Meaning: "ends with the second text", Example: `sku endsWith "-42"`, Gives: "true"},
	{Name: "contains", Signature: "text contains text", Meaning: "has the second text somewhere", Example: `sku contains "ST-4"`, Gives: "true"},
	{Name: "matches", Signature: "text matches text", Meaning: "fits a regular expression (RE2), which must be a constant", Example: `sku matches "^TEST-[0-9]+$"`, Gives: "true"},
	{Name: "|", Signature: "a | f(b)", Meaning: "f(a, b)", Example: `sku | lower() | trimPrefix("test-")`, Gives: "42"},
	{Name: "+", Signature: "a + b, a - b", Meaning: "numbers; texts (+); a time and a duration, two durations; two times (-)", Example: `qty + 0.1`, Gives: "-3.40"},
	{Name: "*", Signature: "a * b, a / b, a % b", Meaning: "numbers; the rest (%) of ints and decimals; a duration and an int or a float (*); two durations (/); int / int is a float", Example: `price * lines`, Gives: "79.60"},
	{Name: "not", Signature: "not a, !a", Meaning: "true where a is false; it is applied before a comparison, so write `not (a == b)`", Example: `not (sku startsWith "TEST-")`, Gives: "false"},
	{Name: "-", Signature: "-a", Meaning: "the negative", Example: `-qty`, Gives: "3.50"},
	{Name: "**", Signature: "a ** b, a ^ b", Meaning: "a power, as a float; not for decimals", Example: `2 ** 10`, Gives: "1024"},
	{Name: ".", Signature: `a.name, a["name"], a[0], a[-1]`, Meaning: "a member of JSON, an element of a list, a column of a row; NULL where it is not there", Example: `doc.lines[0].sku`, Gives: "A"},
	{Name: "[:]", Signature: "a[from:to]", Meaning: "a part of a text, in characters, or of a list; from and to may be left out", Example: `sku[0:4]`, Gives: "TEST"},
	{Name: "let", Signature: "let name = a; b", Meaning: "the value of b, where name stands for a", Example: `let value = qty * price; value < -50 and value > -100`, Gives: "true"},
}

// functionEntries are the entries of the functions. Where an entry has no signature, entriesOf makes it from the
// params.
var functionEntries = map[string]Entry{
	"abs":    {Meaning: "without the sign", Example: `abs(qty)`, Gives: "3.50"},
	"ceil":   {Meaning: "the next whole number above; not for decimals", Example: `ceil(ratio)`, Gives: "1"},
	"floor":  {Meaning: "the next whole number below; not for decimals", Example: `floor(ratio)`, Gives: "0"},
	"round":  {Meaning: "the nearest whole number, halves away from zero", Example: `round(qty)`, Gives: "-4"},
	"int":    {Meaning: "an int: the number in a text, or a float without its fraction", Example: `int(sku[5:]) + 1`, Gives: "43"},
	"float":  {Meaning: "a float", Example: `float("1.5")`, Gives: "1.5"},
	"min":    {Meaning: "the least of the values, or of one list", Example: `min(qty, 0)`, Gives: "-3.50"},
	"max":    {Meaning: "the most of the values, or of one list", Example: `max([1, 5, 3])`, Gives: "5"},
	"sum":    {Signature: "sum(list)", Meaning: "the sum of a list; NULL where one value is NULL, and for an empty list", Example: `sum([qty, price])`, Gives: "16.40"},
	"mean":   {Meaning: "the sum divided by the count, of values or of one list; a decimal of decimals, else a float", Example: `mean([1, 2])`, Gives: "1.5"},
	"median": {Meaning: "the value in the middle, or the mean of the two in the middle", Example: `median([1, 7, 2])`, Gives: "2"},
	"bitand": {Meaning: "the bits that both numbers have", Example: `bitand(12, 10)`, Gives: "8"},

	"len":         {Meaning: "characters of a text, elements of a list", Example: `len(sku)`, Gives: "7"},
	"string":      {Meaning: "the text of any value, decimals exactly", Example: `string(qty) + " pcs"`, Gives: "-3.50 pcs"},
	"upper":       {Meaning: "in capitals", Example: `upper("a-01")`, Gives: "A-01"},
	"lower":       {Meaning: "in small letters", Example: `lower(sku)`, Gives: "test-42"},
	"trim":        {Meaning: "without spaces at its ends, or without the characters of the second text", Example: `trim("--A--", "-")`, Gives: "A"},
	"trimPrefix":  {Meaning: "without this beginning", Example: `trimPrefix(sku, "TEST-")`, Gives: "42"},
	"trimSuffix":  {Meaning: "without this end", Example: `trimSuffix(sku, "-42")`, Gives: "TEST"},
	"hasPrefix":   {Meaning: "as startsWith", Example: `hasPrefix(sku, "TEST")`, Gives: "true"},
	"hasSuffix":   {Meaning: "as endsWith", Example: `hasSuffix(sku, "7")`, Gives: "false"},
	"indexOf":     {Meaning: "the place where the second text begins first, counted from 0; -1 where the first text does not have it", Example: `indexOf(sku, "-")`, Gives: "4"},
	"lastIndexOf": {Meaning: "the place where the second text begins last", Example: `lastIndexOf("a-b-c", "-")`, Gives: "3"},
	"repeat":      {Meaning: "the text repeated, the int says how often", Example: `repeat("ab", 3)`, Gives: "ababab"},
	"replace":     {Meaning: "with the third text in place of the second, everywhere or at most as often as the int says", Example: `replace(sku, "-", "/")`, Gives: "TEST/42"},
	"split":       {Meaning: "a list of the parts, at most as many as the int says", Example: `split(sku, "-")[1]`, Gives: "42"},
	"splitAfter":  {Meaning: "the same, and each part keeps the separator at its end", Example: `splitAfter(sku, "-")[0]`, Gives: "TEST-"},
	"join":        {Meaning: "one text from a list of texts, with the second text between them", Example: `join(["A", "B"], ", ")`, Gives: "A, B"},
	"toJSON":      {Meaning: "the value as JSON", Example: `toJSON(sku)`, Gives: `"TEST-42"`},
	"fromJSON":    {Meaning: "the JSON that a text holds", Example: `fromJSON("{\"a\": [1, 2]}").a[1]`, Gives: "2"},
	"toBase64":    {Meaning: "in base64", Example: `toBase64("hello")`, Gives: "aGVsbG8="},
	"fromBase64":  {Meaning: "out of base64", Example: `fromBase64("aGVsbG8=")`, Gives: "hello"},

	"now":      {Meaning: "the firing's due time", Example: `now()`, Gives: "2026-06-01T08:00:00Z"},
	"duration": {Meaning: "a duration from a text with the units d, h, m, s", Example: `now() - released_at >= duration("1d")`, Gives: "true"},
	"date":     {Signature: "date(text, layout?, zone?)", Meaning: "a time from a text; without a layout it reads 2006-01-02, 2006-01-02 15:04:05 and RFC 3339", Example: `released_at < date("2026-06-01")`, Gives: "true"},

	"first":   {Meaning: "the first element", Example: `first(split("a-b-c", "-"))`, Gives: "a"},
	"last":    {Meaning: "the last element", Example: `last(split("a-b-c", "-"))`, Gives: "c"},
	"take":    {Signature: "take(list, int)", Meaning: "the first elements, as many as the int says", Example: `len(take([5, 6, 7], 2))`, Gives: "2"},
	"reverse": {Meaning: "the list in reverse order", Example: `reverse([1, 2, 3])[0]`, Gives: "3"},
	"sort":    {Meaning: `in order; with "desc" the greatest first`, Example: `sort([3, 1, 2], "desc")[0]`, Gives: "3"},
	"uniq":    {Meaning: "each value once", Example: `len(uniq(["A", "B", "A"]))`, Gives: "2"},
	"get":     {Signature: "get(json, value)", Meaning: "a member of JSON whose name is calculated", Example: `get(doc, lower("WAVE"))`, Gives: "77"},

	"any":           {Signature: "any(list, predicate)", Meaning: "true where at least one element meets the predicate", Example: `any(rows, .qty < 0)`, Gives: "true", Rows: true},
	"all":           {Signature: "all(list, predicate)", Meaning: "true where each element meets the predicate, and for an empty list", Example: `all(rows, .qty < 100)`, Gives: "true", Rows: true},
	"none":          {Signature: "none(list, predicate)", Meaning: "true where no element meets the predicate", Example: `none(rows, .sku == "X")`, Gives: "true", Rows: true},
	"one":           {Signature: "one(list, predicate)", Meaning: "true where exactly one element meets the predicate", Example: `one(rows, .qty < 0)`, Gives: "true", Rows: true},
	"count":         {Signature: "count(list, predicate)", Meaning: "the number of elements that meet the predicate", Example: `count(rows, .sku == "A")`, Gives: "2", Rows: true},
	"count of rows": {Signature: "count(rows)", Meaning: "the number of rows, as row_count", Example: `count(rows)`, Gives: "3", Rows: true},
	"filter":        {Signature: "filter(list, predicate)", Meaning: "a list of the elements that meet the predicate", Example: `len(filter(rows, .qty > 0))`, Gives: "2", Rows: true},
	"find":          {Signature: "find(list, predicate)", Meaning: "the first element that meets the predicate, NULL where there is none", Example: `find(rows, .qty < 0).sku`, Gives: "B", Rows: true},
	"findLast":      {Signature: "findLast(list, predicate)", Meaning: "the last element that meets the predicate", Example: `findLast(rows, .sku == "A").qty`, Gives: "7.00", Rows: true},
	"map":           {Signature: "map(list, value)", Meaning: "the value for each element, as a list", Example: `max(map(rows, .qty))`, Gives: "7.00", Rows: true},
}

// sumOfRows is the entry of sum with a second argument.
var sumOfRows = Entry{Name: "sum of values", Signature: "sum(list, value)", Meaning: "the sum of the value for each element", Example: `sum(rows, .qty ?? 0)`, Gives: "5.50", Rows: true}

var timeMethodEntries = map[string]Entry{
	"Year":    {Meaning: "the year", Example: `released_at.Year()`, Gives: "2026"},
	"Month":   {Meaning: "the month, 1 to 12", Example: `released_at.Month()`, Gives: "5"},
	"Day":     {Meaning: "the day of the month", Example: `released_at.Day()`, Gives: "30"},
	"Hour":    {Meaning: "the hour", Example: `released_at.Hour()`, Gives: "22"},
	"Minute":  {Meaning: "the minute", Example: `released_at.Minute()`, Gives: "15"},
	"Second":  {Meaning: "the second", Example: `released_at.Second()`, Gives: "0"},
	"Weekday": {Meaning: "the weekday, Sunday 0 to Saturday 6", Example: `released_at.Weekday() in [0, 6]`, Gives: "true"},
	"YearDay": {Meaning: "the day of the year", Example: `released_at.YearDay()`, Gives: "150"},
	"Unix":    {Meaning: "seconds since 1970", Example: `released_at.Unix()`, Gives: "1780179300"},
	"Format":  {Name: "Format", Signature: "time.Format(text)", Meaning: "as a text; the layout writes the time 2006-01-02 15:04:05", Example: `released_at.Format("02.01. 15:04")`, Gives: "30.05. 22:15"},
	"In":      {Name: "In", Signature: "time.In(timezone(text))", Meaning: "stands before another method, which then reads the time in that timezone; without In, in UTC", Example: `released_at.In(timezone("Asia/Shanghai")).Hour()`, Gives: "6"},
}

var durationMethodEntries = map[string]Entry{
	"Hours":   {Meaning: "in hours", Example: `(now() - released_at).Hours()`, Gives: "33.75"},
	"Minutes": {Meaning: "in minutes", Example: `duration("2h").Minutes()`, Gives: "120"},
	"Seconds": {Meaning: "in seconds", Example: `duration("2m").Seconds()`, Gives: "120"},
}
