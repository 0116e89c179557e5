// Package sinktest has the tests that every sink must pass, and a sink that fails on demand.
//
// Run is the suite for sinks that others fetch from (inbox, queue). It tests that receipts come in order, that a repeat
// changes nothing, and that a batch arrives whole or not at all. RunPush is the suite for push channels. It tests every
// kind of answer, and what the channel says about it. A sink gives the suite a Fixture or a PushFixture.
//
// Faulty wraps a sink. It fails, hangs or loses the answer on demand.
package sinktest
