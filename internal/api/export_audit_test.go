package api

import (
	"maps"
	"slices"
)

// Audited tells whether the operation is recorded, or why not.
func Audited(operation string) (recorded bool, why string) {
	_, recorded = audit[operation]
	return recorded, unaudited[operation]
}

// AuditTables are the operations that the tables name.
func AuditTables() []string {
	return slices.Concat(slices.Collect(maps.Keys(audit)), slices.Collect(maps.Keys(unaudited)))
}
