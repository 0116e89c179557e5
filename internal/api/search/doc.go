// Package search finds notices in the ledger for operators, and shows the origin and the effects of a notice. The
// package also finds open findings and queue items by a text, such as the number of a bin.
//
// A search reads a bounded number of notices, the latest first, and says how far back it has read. A trace has the run
// that made the notice, the other notices of the episode, the deliveries with their queue items, and the users who have
// read and acked the notice. A caller sees the notices of the warehouses that the token allows.
//
// The package keeps no state and changes nothing. Clients poll with package inbox, and operators repair deliveries with
// package deliveries.
package search
