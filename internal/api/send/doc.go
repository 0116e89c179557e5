// Package send takes the notices of business systems.
//
// A request is checked as a whole: each notice against the catalogue, the limits of a notice and the strategies of the sinks that it names, so that
// an answer tells all faults at once. Its notices are recorded all or none, before the answer comes. Under an Idempotency-Key a repeated request has
// the same answer, and nothing is sent twice.
//
// The package delivers nothing itself. Sends.Send writes notices with their deliveries into the ledger, and Sends.Wake tells who delivers.
package send
