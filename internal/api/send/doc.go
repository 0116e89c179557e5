// Package send accepts the notices of business systems.
//
// A request is checked as a whole: each notice is checked against the catalogue, the limits of a notice, and the
// strategies of its sinks, so that the answer names all faults at once. The ledger records all notices of a request or
// none, before the answer. A request that is repeated under the same Idempotency-Key gets the same answer, and nothing
// is sent twice.
//
// The package does not deliver. Sends.Send writes notices and their deliveries to the ledger, and Sends.Wake wakes the
// lanes and push channels.
package send
