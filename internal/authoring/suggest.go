package authoring

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"tallyman/rules/probe"
	"tallyman/rules/problem"
	"tallyman/rules/row"
	"tallyman/scanners"
)

const (
	suggestTimeout = 10 * time.Second
	mostNames      = 50_000 // the most columns of a database that are searched
)

// suggest adds a hint to the error of a probe that names an unknown table, column or function. The hint has the nearest
// known name. Where the database itself proposes a name, the error stays as it is.
func suggest(ctx context.Context, source scanners.Source, sql string, err error) {
	scan, ok := errors.AsType[*scanners.Error](err)
	if !ok {
		return
	}
	kind, name, found := scanners.UnknownName(scan.Err.Error())
	if !found || strings.Contains(scan.Hint, "Perhaps you meant") {
		return
	}
	words := wordsOf(sql)
	if kind == scanners.NameFunction || kind == scanners.NameColumnOr && words[strings.ToLower(name)].called {
		scan.Hint = joinHints(functionHint(name), scan.Hint)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, suggestTimeout)
	defer cancel()
	columns := namesOf(ctx, source)
	if kind == scanners.NameTable {
		tables := slices.Sorted(maps.Keys(columns))
		if name == "" {
			name = firstUnknown(sql, columns)
		}
		scan.Hint = joinHints(problem.DidYouMean(name, tables), scan.Hint)
		return
	}
	var candidates []string
	for table, list := range columns {
		if _, read := words[strings.ToLower(table)]; read {
			candidates = append(candidates, list...)
		}
	}
	slices.Sort(candidates)
	scan.Hint = joinHints(nearestColumn(name, slices.Compact(candidates)), scan.Hint)
}

func joinHints(hints ...string) string {
	return strings.Join(slices.DeleteFunc(hints, func(h string) bool { return h == "" }), "; ")
}

// nearestColumn returns a hint with the nearest column, or a list of the columns.
func nearestColumn(name string, columns []string) string {
	const most = 30
	hint := problem.DidYouMean(name, columns)
	if hint != "" || len(columns) == 0 {
		return hint
	}
	if len(columns) > most {
		columns = append(columns[:most:most], "…")
	}
	return "columns: " + strings.Join(columns, ", ")
}

// namesOf returns the columns of the source, keyed by table. The map is empty where the source does not tell them; then
// there is no hint.
func namesOf(ctx context.Context, source scanners.Source) map[string][]string {
	names := map[string][]string{}
	namer, ok := source.(scanners.Namer)
	if !ok {
		return names
	}
	stmt, faults := probe.Parse(namer.Names())
	if len(faults) > 0 {
		return names
	}
	prepared, err := source.Prepare(ctx, stmt)
	if err != nil {
		return names
	}
	_, err = prepared.Scan(ctx, scanners.Request{Timeout: suggestTimeout, MaxRows: mostNames}, func(r *row.Row) error {
		table := strings.Clone(r.Values[0].String())
		names[table] = append(names[table], strings.Clone(r.Values[1].String()))
		return nil
	})
	if err != nil {
		return map[string][]string{}
	}
	return names
}

// sqlWord is a name in a probe.
type sqlWord struct{ called bool }

// wordsOf returns the names in a probe, in lower case.
func wordsOf(sql string) map[string]sqlWord {
	words := map[string]sqlWord{}
	tokens, _ := probe.Lex(sql)
	for i, t := range tokens {
		if name := strings.ToLower(t.Name()); name != "" {
			words[name] = sqlWord{called: i+1 < len(tokens) && tokens[i+1].Is("(")}
		}
	}
	return words
}

// firstUnknown returns the first name after FROM or JOIN that is not a table.
func firstUnknown(sql string, tables map[string][]string) string {
	known := map[string]bool{}
	for table := range tables {
		known[strings.ToLower(table)] = true
	}
	tokens, _ := probe.Lex(sql)
	for i := range tokens {
		if !tokens[i].Is("from") && !tokens[i].Is("join") {
			continue
		}
		at := i + 1
		for at+2 < len(tokens) && tokens[at+1].Is(".") {
			at += 2
		}
		if at < len(tokens) && tokens[at].Name() != "" && !known[strings.ToLower(tokens[at].Name())] {
			return tokens[at].Name()
		}
	}
	return ""
}

// functionHint returns the name of the function in other databases, or the nearest common function.
func functionHint(name string) string {
	name = strings.ToLower(name)
	if hint, ok := otherFunctions[name]; ok {
		return hint
	}
	if slices.Contains(commonFunctions, name) {
		return "" // the name is right; the arguments are wrong, or this database does not have the function
	}
	return problem.DidYouMean(name, commonFunctions)
}

// otherFunctions holds hints for functions that only some databases have.
var otherFunctions = map[string]string{
	"ifnull": "write coalesce(a, b)", "nvl": "write coalesce(a, b)", "isnull": "write coalesce(a, b), or a IS NULL",
	"iif": "write CASE WHEN … THEN … ELSE … END", "if": "write CASE WHEN … THEN … ELSE … END", "decode": "write CASE a WHEN … THEN … END",
	"getdate": "write :now", "sysdate": "write :now", "sysdatetime": "write :now", "getutcdate": "write :now", "now": "write :now",
	"len": "write length(a)", "length": "write len(a)", "char_length": "write length(a), or len(a) on SQL Server", "charindex": "write instr(a, b), or position(b in a)",
	"group_concat": "write string_agg(a, ','), or listagg(a, ',') on Oracle", "string_agg": "write group_concat(a), or listagg(a, ',') on Oracle",
	"listagg": "write string_agg(a, ','), or group_concat(a) on MySQL and SQLite", "to_char": "leave the form to the notice: {{ .at | date \"2006-01-02\" }}",
	"date_format": "leave the form to the notice: {{ .at | date \"2006-01-02\" }}", "datediff": "subtract one time from the other, in the SQL or in the condition",
	"timestampdiff": "subtract one time from the other, in the SQL or in the condition", "dateadd": "add an interval, or compare in the condition: at + duration(\"2h\")",
	"date_add": "add an interval, or compare in the condition: at + duration(\"2h\")",
}

// commonFunctions lists functions that most databases have.
var commonFunctions = strings.Fields(`abs avg cast ceil ceiling coalesce concat count date datetime extract floor greatest instr json_extract lag lead
	least left length lower ltrim max min mod nullif position power rank replace right round row_number rtrim sign sqrt strftime substr substring sum trim
	trunc upper`)
