// Package record makes the records of changes from the values that were changed. What it writes is enough to apply a change to a copy of
// the ledger: types, subscriptions, addresses, switches, silences and promotions can be rebuilt from their records alone, and tokens but
// for their hashes and last uses.
//
// There is a function for each change, named for what was done, as SwitchSet or TokenRevoked; its states are the forms that the API has. The
// engines write the records in the transaction of the change; see store.Recorder. The package decides nothing and holds no secret.
package record
