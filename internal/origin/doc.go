// Package origin keeps what queries of sources list: the subscriptions of a source, and the scopes of rules. Now and then one node of the cluster runs the query,
// and the ledger takes the list as a whole.
//
// What cannot be taken leaves the last list as it was, with the reason beside it: a query that fails, a row that does not do, a list that would
// remove more than half, which waits for an operator. docs/adr/subscriptions-from-a-source.md and docs/adr/scopes-from-the-database.md have the decisions.
package origin
