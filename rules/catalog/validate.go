package catalog

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"tallyman/rules/strictyaml"
)

// The codes of a type's faults, beside those of strictyaml.
const (
	CodeBadName     = "bad_name"
	CodeBadID       = "bad_id"
	CodeDuplicateID = "duplicate_id"
	CodeReserved    = "reserved_code"
)

var (
	codePattern     = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)
	fieldPattern    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	languagePattern = regexp.MustCompile(`^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$`)
	kinds           = []FieldKind{String, Int, Decimal, Bool, Time}
)

const (
	leastRetention = time.Minute
	mostRetention  = 3650 * 24 * time.Hour
)

// Fault is what is wrong with one field of a type. Field is its path, as "fields.qty".
type Fault struct {
	Field, Code, Message, Hint string
}

// IsLanguage tells whether the text is the code of a language, as zh or pt-BR.
func IsLanguage(s string) bool { return languagePattern.MatchString(s) }

// Validate returns all that is wrong with the type by itself; types from elsewhere than a file go through it.
func (t Type) Validate() []Fault {
	var l []Fault
	fail := func(field, code, message, hint string) { l = append(l, Fault{field, code, message, hint}) }
	if !codePattern.MatchString(t.Code) {
		fail("code", CodeBadName, fmt.Sprintf("%q cannot be the code of a type", t.Code), "capitals, digits and _, at most 64, as REP_NOTICE")
	}
	if Reserved(t.Code) {
		fail("code", CodeReserved, "codes that begin with "+ReservedPrefix+" are Tallyman's own", "choose another code; the built-in types need no entry")
	}
	for _, own := range BuiltIn() {
		if t.ID == own.ID {
			fail("id", CodeDuplicateID, fmt.Sprintf("the id %d belongs to the built-in type %s", t.ID, own.Code), "choose another")
		}
	}
	if t.ID < 1 {
		fail("id", CodeBadID, fmt.Sprintf("%d cannot be the id of a type", t.ID), "a number from 1 on, unique among the types")
	}
	if strings.TrimSpace(t.Name) == "" {
		fail("name", strictyaml.CodeMissing, "the type has no name", "what people call it, as Replenishment notice")
	}
	for _, lang := range slices.Sorted(maps.Keys(t.Names)) {
		if !IsLanguage(lang) {
			fail("names."+lang, CodeBadName, fmt.Sprintf("%q is no language", lang), "a code such as en, zh or pt-BR")
		}
	}
	if t.Retention < leastRetention || t.Retention > mostRetention {
		fail("retention", strictyaml.CodeOutOfRange, fmt.Sprintf("a retention of %s", strictyaml.FormatDuration(t.Retention)), "between 1m and 3650d")
	}
	for _, name := range t.FieldNames() {
		if !fieldPattern.MatchString(name) {
			fail("fields."+name, CodeBadName, fmt.Sprintf("%q cannot name a field", name), "letters, digits and _, at most 64, beginning with a letter")
		}
		if !slices.Contains(kinds, t.Fields[name].Type) {
			fail("fields."+name+".type", strictyaml.CodeEnum, fmt.Sprintf("there is no field type %q", t.Fields[name].Type),
				"one of string, int, decimal, bool, time")
		}
	}
	return l
}
