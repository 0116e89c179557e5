// Package sinktest holds what every sink must pass, and a sink that fails when a test wants it to.
//
// Run is the suite of sinks that others fetch from (inbox, queue): receipts in order, a repeat that changes nothing, a batch that arrives whole or
// not at all. RunPush is the suite of push channels: taken, put off, refused, and what each answer says. A sink gives a Fixture or a PushFixture.
// Faulty wraps a sink and fails, hangs or loses the answer on demand.
package sinktest
