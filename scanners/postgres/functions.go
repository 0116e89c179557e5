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
	name         string // the name as in the configuration
	bare         string // the name without its schema
	builtin      bool   // PostgreSQL's own
	volatile     bool
	language     string
	ownersRights bool   // SECURITY DEFINER
	path         string // the search_path that the function sets; "" if it sets none
}

// judge returns why a probe may not call the function, or "" if a probe may. hint is a way out other than to allow the
// function in the configuration. judge does not look at the body of a function in SQL: resolution.body judges the calls
// of the body.
func (f *function) judge() (why, hint string) {
	if refusal, found := probe.Refuse(f.bare); found {
		return refusal.Does, refusal.Hint
	}
	switch {
	case runsText[f.bare]:
		return "runs SQL that it is given as a text", "write that SQL as the probe"
	case f.builtin && takesNumber[f.bare]:
		return "makes the server assign a number to the transaction", ""
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
	return "is written in " + f.language + ", and the server cannot tell what such a function calls", ""
}

// isSQL tells whether the function is written in SQL and is not PostgreSQL's own. The server can tell the calls of such
// a function.
func (f *function) isSQL() bool { return f.language == "sql" && !f.builtin }

func names(list string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(list) {
		set[name] = true
	}
	return set
}

// runsText has functions of PostgreSQL's extensions that run SQL from a text argument, although they are not volatile.
var runsText = names(`crosstab crosstab2 crosstab3 crosstab4 crosstabn connectby xpath_table`)

// takesNumber has functions that the server calls stable, but that use up a transaction number.
var takesNumber = names(`txid_current pg_current_xact_id`)

// harmless has PostgreSQL's own volatile functions that only read or calculate. A repeated call may return another
// value, but leaves nothing behind.
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

// tree has the names in a query tree, by OID and without repeats. The tree is in PostgreSQL's text form. The lists may
// have a few names too many, but never too few: an alias can look like the name of a field, but cannot hide a name.
type tree struct {
	functions, operators, types []uint32
	relations                   []uint32 // tables and views
	commands                    []uint32 // the CmdType of each query in the tree; 1 is SELECT
}

// selects is the CmdType of SELECT.
const selects = 1

// The fields that name an object, by the ends of their names.
var (
	functionField = fieldEnds{"funcid", "fnoid", "Func", "handler"}
	operatorField = fieldEnds{"opno", "opnos", "eqop", "sortop", "neop"}
	typeField     = fieldEnds{"type", "typeid", "types"} // case does not matter
)

// fieldEnds are ends of field names. The match must be fast: a tree has hundreds of fields, and a node reads the trees
// of 10,000 probes at its start.
type fieldEnds []string

func (e fieldEnds) match(name string) bool {
	return strings.HasPrefix(name, ":") && slices.ContainsFunc(e, func(end string) bool { return strings.HasSuffix(name, end) })
}

// readTree reads a tree, or a list of trees. readTree fails on an unknown kind of node, because such a node may name
// functions in an unknown way.
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

// field adds the value of a field to the tree. The value is a number, or a list (o 1 2).
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

// add appends an OID unless it is 0. add returns whether the value is a number.
func add(list *[]uint32, value string) bool {
	oid, err := strconv.ParseUint(value, 10, 32)
	if err == nil && oid != 0 {
		*list = append(*list, uint32(oid))
	}
	return err == nil
}

// nextToken splits the text as PostgreSQL's pg_strtok does. A backslash removes the special meaning of the next
// character. So a brace or a space within a name does not end the token. At the end of the text, nextToken returns "".
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
