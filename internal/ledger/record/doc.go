// Package record makes the audit records of changes from the changed values. A record is enough to apply its change
// to a copy of the ledger. Types, subscriptions, addresses, switches, silences and promotions can be rebuilt from
// their records alone; tokens too, except for their hashes and last uses.
//
// There is one function for each change, named for the change, such as SwitchSet or TokenRevoked. The states in a
// record have the form of the API. The engines write the records in the transaction of the change; see
// store.Recorder. The package decides nothing and holds no secret.
package record
