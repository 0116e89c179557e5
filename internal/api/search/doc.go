// Package search finds notices of the ledger for operators, and shows what made a notice and what became of it. By a text, such as the number of a bin, it
// finds open findings and items, too.
//
// A search looks at a bounded number of notices, the latest first, and says how far back it has looked. A trace has the run that made the notice, the
// other notices of the episode, the deliveries with the items of queues, and who has read and acked it. Who is not for all warehouses sees the notices
// of their own.
//
// The package keeps nothing and changes nothing: clients poll with package inbox, and deliveries are mended with package deliveries.
package search
