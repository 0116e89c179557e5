// Package record makes the records of changes from the values that were changed. What it writes is enough to apply a change to a copy of
// the ledger: types, subscriptions, addresses, switches, silences and promotions can be rebuilt from their records alone, and tokens but
// for their hashes and last uses.
package record
