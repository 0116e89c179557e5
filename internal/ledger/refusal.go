package ledger

import "fmt"

// RefusalReason is why a database refuses a write. RefusalReason is a label of metrics: the list is closed.
type RefusalReason string

// The reasons of refusals.
const (
	RefusedDiskFull   RefusalReason = "disk_full"
	RefusedReadOnly   RefusalReason = "read_only"
	RefusedResources  RefusalReason = "resources"
	RefusedDamaged    RefusalReason = "damaged"
	RefusedSchema     RefusalReason = "schema"
	RefusedPrivilege  RefusalReason = "privilege"
	RefusedConstraint RefusalReason = "constraint"
	RefusedValue      RefusalReason = "value"
	RefusedConflict   RefusalReason = "conflict"
	RefusedTimeout    RefusalReason = "timeout"
	RefusedOther      RefusalReason = "other"
)

// refusalWords has the text of each reason for operators.
var refusalWords = map[RefusalReason]string{
	RefusedDiskFull:   "the disk of the ledger is full: make room on it",
	RefusedReadOnly:   "the ledger takes no writes: it is a standby, or is set to read only",
	RefusedResources:  "the server of the ledger has no memory or connection left",
	RefusedDamaged:    "the server of the ledger cannot read or write its files",
	RefusedSchema:     "a table of the ledger differs from what the program created",
	RefusedPrivilege:  "the user of ledger.url may not write a table of the ledger",
	RefusedConstraint: "a constraint of a table forbids the record",
	RefusedValue:      "the server refuses a value of the record",
	RefusedConflict:   "another transaction holds what the record needs",
	RefusedTimeout:    "the ledger did not answer in time: its server hangs, or the network to it loses packets",
	RefusedOther:      "the server of the ledger refuses the record",
}

// RefusalReasons are all reasons.
func RefusalReasons() []RefusalReason {
	return []RefusalReason{
		RefusedDiskFull, RefusedReadOnly, RefusedResources, RefusedDamaged, RefusedSchema, RefusedPrivilege,
		RefusedConstraint, RefusedValue, RefusedConflict, RefusedTimeout, RefusedOther,
	}
}

// Refusal describes a write that the database refused.
type Refusal struct {
	Reason RefusalReason
	Code   string // the database's own code, as "SQLSTATE 53100"; "" = none
	Detail string // further text of the database, without values of the record; may be ""
}

// String says in plain words why the database refused. String contains no value of the record and no secret.
func (r Refusal) String() string {
	said := r.Code
	if r.Detail != "" {
		said += ": " + r.Detail
	}
	if said == "" {
		return refusalWords[r.Reason]
	}
	return fmt.Sprintf("%s (%s)", refusalWords[r.Reason], said)
}
