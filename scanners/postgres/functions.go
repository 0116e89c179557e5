package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tallyman/rules/probe"
)

// function is a function as the catalogue has it.
type function struct {
	name         string // as the configuration names it
	bare         string // without its schema
	builtin      bool   // PostgreSQL's own
	volatile     bool
	language     string
	ownersRights bool   // SECURITY DEFINER
	path         string // the search_path that it sets, "" where it sets none
}

// judge tells why a probe may not call the function, and another way out than to allow it; "" where it may, a function in SQL by what its body calls.
func (f *function) judge() (why, hint string) {
	if refusal, found := probe.Refuse(f.bare); found {
		return refusal.Does, refusal.Hint
	}
	switch {
	case runsText[f.bare]:
		return "runs SQL that it is given as a text", "write that SQL as the probe"
	case f.builtin && takesNumber[f.bare]:
		return "makes the server number the transaction", ""
	case f.volatile && f.builtin && harmless[f.bare]:
		return "", ""
	case f.volatile && f.builtin:
		return "is volatile: it may do more than read", ""
	case f.volatile:
		return "is volatile: it may do more than read", "if it only reads, let its owner declare it STABLE or IMMUTABLE"
	case f.builtin, f.language == "internal", f.language == "c", f.isSQL() && !f.ownersRights:
		return "", ""
	case f.ownersRights:
		return "runs with the rights of its owner", ""
	}
	return "is written in " + f.language + ", which the server does not look into before it runs", ""
}

// isSQL tells whether the server can say what the function calls.
func (f *function) isSQL() bool { return f.language == "sql" && !f.builtin }

func names(list string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(list) {
		set[name] = true
	}
	return set
}

// runsText holds functions of PostgreSQL's extensions that run SQL which they are given, though they are not volatile.
var runsText = names(`crosstab crosstab2 crosstab3 crosstab4 crosstabn connectby xpath_table`)

// takesNumber holds functions that are stable to the server and all the same use up one of its transaction numbers.
var takesNumber = names(`txid_current pg_current_xact_id`)

// harmless holds PostgreSQL's own volatile functions that only read or calculate: another call may give another value, and nothing remains of it.
var harmless = names(`random random_normal clock_timestamp timeofday gen_random_uuid uuidv4 uuidv7 bernoulli system
	pg_is_in_recovery pg_last_xact_replay_timestamp pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_current_wal_lsn pg_current_wal_flush_lsn
	pg_current_wal_insert_lsn pg_is_wal_replay_paused pg_xact_commit_timestamp pg_last_committed_xact pg_xact_status txid_status
	pg_relation_size pg_table_size pg_indexes_size pg_total_relation_size pg_database_size pg_tablespace_size pg_sequence_last_value
	pg_partition_tree pg_partition_ancestors pg_lock_status pg_blocking_pids pg_safe_snapshot_blocking_pids pg_notification_queue_usage
	pg_stat_get_xact_numscans pg_stat_get_xact_tuples_returned pg_stat_get_xact_tuples_fetched pg_stat_get_xact_tuples_inserted
	pg_stat_get_xact_tuples_updated pg_stat_get_xact_tuples_deleted pg_stat_get_xact_tuples_hot_updated pg_stat_get_xact_blocks_fetched
	pg_stat_get_xact_blocks_hit pg_stat_get_xact_function_calls pg_stat_get_xact_function_total_time pg_stat_get_xact_function_self_time
	pg_stat_get_xact_tuples_newpage_updated pg_stat_have_stats pg_stat_get_io pg_stat_get_recovery_prefetch pg_get_wait_events
	pg_collation_actual_version pg_database_collation_actual_version current_query pg_prepared_xact`)

// tree is what a query tree in PostgreSQL's text form names, each by its OID and once. It may name a few more than the query does, never fewer:
// an alias can look like the name of a field, but cannot hide one.
type tree struct {
	functions, operators, types []uint32
	relations                   []uint32 // tables and views
	commands                    []uint32 // CmdType of each query in it; 1 is SELECT
}

// selects is the CmdType of SELECT.
const selects = 1

// The fields that name something, by the words that PostgreSQL ends their names with.
var (
	functionField = fieldEnds{"funcid", "fnoid", "Func", "handler"}
	operatorField = fieldEnds{"opno", "opnos", "eqop", "sortop", "neop"}
	typeField     = fieldEnds{"type", "typeid", "types"} // in any case
)

// fieldEnds are what names of fields end with. A tree has hundreds of fields, and a node reads the trees of 10,000 probes when it starts.
type fieldEnds []string

func (e fieldEnds) match(name string) bool {
	return strings.HasPrefix(name, ":") && slices.ContainsFunc(e, func(end string) bool { return strings.HasSuffix(name, end) })
}

// readTree reads a tree, or a list of them. It fails on a kind of node that it does not know, which may name functions in a way that it does not know either.
func readTree(text string) (*tree, error) {
	t := &tree{}
	for token, rest := nextToken(text); token != ""; {
		following, after := nextToken(rest)
		switch {
		case token == "{" && !slices.Contains(nodes, following):
			return nil, fmt.Errorf("a node %.40q in the query tree is not known", following)
		case token[0] == ':':
			t.field(token, following, after)
		}
		token, rest = following, after
	}
	for _, list := range []*[]uint32{&t.functions, &t.operators, &t.types, &t.relations, &t.commands} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return t, nil
}

// field notes the value of a field: a number, or a list (o 1 2).
func (t *tree) field(name, value, rest string) {
	var list *[]uint32
	switch {
	case name == ":relid":
		list = &t.relations
	case name == ":commandType":
		list = &t.commands
	case functionField.match(name):
		list = &t.functions
	case operatorField.match(name):
		list = &t.operators
	case typeField.match(strings.ToLower(name)):
		list = &t.types
	default:
		return
	}
	if value == "(" {
		if value, rest = nextToken(rest); value != "o" {
			return
		}
		for value, rest = nextToken(rest); add(list, value); value, rest = nextToken(rest) {
		}
		return
	}
	add(list, value)
}

// add appends an OID, unless it is 0, and tells whether it was a number.
func add(list *[]uint32, value string) bool {
	oid, err := strconv.ParseUint(value, 10, 32)
	if err == nil && oid != 0 {
		*list = append(*list, uint32(oid))
	}
	return err == nil
}

// nextToken cuts the text as PostgreSQL's pg_strtok does: a backslash takes the special meaning of the character behind it, so that no name can
// contain a brace or end before its end. It returns "" at the end.
func nextToken(text string) (token, rest string) {
	text = strings.TrimLeft(text, " \n\t")
	if text == "" {
		return "", ""
	}
	if strings.IndexByte("(){}", text[0]) >= 0 {
		return text[:1], text[1:]
	}
	i := 0
	for i < len(text) && strings.IndexByte(" \n\t(){}", text[i]) < 0 {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		i++
	}
	return text[:i], text[i:]
}

// nodes are the kinds of nodes that a rewritten query can have in PostgreSQL 13 to 18.
var nodes = strings.Fields(`QUERY RANGETBLENTRY RTE RTEPERMISSIONINFO ALIAS RANGETBLREF FROMEXPR JOINEXPR TARGETENTRY VAR CONST PARAM AGGREF GROUPINGFUNC
	WINDOWFUNC SUBSCRIPTINGREF FUNCEXPR NAMEDARGEXPR OPEXPR DISTINCTEXPR NULLIFEXPR SCALARARRAYOPEXPR BOOLEXPR SUBLINK FIELDSELECT FIELDSTORE RELABELTYPE
	COERCEVIAIO ARRAYCOERCEEXPR CONVERTROWTYPEEXPR COLLATE COLLATEEXPR CASE CASEEXPR WHEN CASEWHEN CASETESTEXPR ARRAY ARRAYEXPR ROW ROWEXPR ROWCOMPARE
	ROWCOMPAREEXPR COALESCE COALESCEEXPR MINMAX MINMAXEXPR SQLVALUEFUNCTION XMLEXPR JSONFORMAT JSONRETURNING JSONVALUEEXPR JSONCONSTRUCTOREXPR
	JSONISPREDICATE JSONBEHAVIOR JSONEXPR JSONTABLEPATH JSONTABLEPATHSCAN JSONTABLESIBLINGJOIN NULLTEST BOOLEANTEST COERCETODOMAIN COERCETODOMAINVALUE
	SORTGROUPCLAUSE GROUPINGSET WINDOWCLAUSE ROWMARKCLAUSE RANGETBLFUNCTION TABLEFUNC TABLESAMPLECLAUSE SETOPERATIONSTMT COMMONTABLEEXPR
	CTESEARCHCLAUSE CTECYCLECLAUSE`)
