// Package origin keeps the subscriptions that a query of a source returns: every minute, or as the configuration says, one node of the cluster runs the query,
// and the ledger takes the list as a whole.
//
// What cannot be taken leaves the subscriptions as they were, with the reason beside them: a query that fails, a row that is no subscription, a list that would
// remove more than half, which waits for an operator. docs/adr/subscriptions-from-a-source.md has the decisions.
package origin
