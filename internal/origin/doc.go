// Package origin keeps lists in the ledger equal to queries of sources: the subscriptions of a source, and the scopes
// of rules. At intervals one node of the cluster runs the query, and the ledger takes the list as a whole.
//
// If the query fails or a row is invalid, the last list stays in force, and the ledger keeps the reason. A list that
// would remove more than half of the last one waits for an operator. docs/adr/subscriptions-from-a-source.md and
// docs/adr/scopes-from-the-database.md have the decisions.
package origin
