// Package send accepts the notices of business systems.
//
// The package checks a request as a whole, so that the answer names all faults at once. Each notice is checked against
// the catalogue, the limits of a notice, and the strategies of its sinks. The ledger records all notices of a request
// or none, before the answer. A request that is repeated under the same Idempotency-Key gets the same answer, and
// nothing is sent twice.
//
// The package does not deliver. Sends.Send writes notices and their deliveries to the ledger, and Sends.Wake wakes the
// lanes and push channels.
package send
