package postgres

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

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
	functionField = regexp.MustCompile(`^:(\w*funcid|\w*fnoid|\w*Func|\w*handler)$`)
	operatorField = regexp.MustCompile(`^:(\w*opno|\w*opnos|\w*eqop|\w*sortop|\w*neop)$`)
	typeField     = regexp.MustCompile(`(?i)^:\w*type(id|s)?$`)
)

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
	case functionField.MatchString(name):
		list = &t.functions
	case operatorField.MatchString(name):
		list = &t.operators
	case typeField.MatchString(name):
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
