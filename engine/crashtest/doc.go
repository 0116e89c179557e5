// Package crashtest kills a process that runs the engine, with SIGKILL, in each step of a firing and of a delivery, and
// proves that nothing is lost or doubled.
//
// The test starts itself as the process. A step is a call of the ledger or of the sink: the process stops before or
// after the call, is killed, and another process goes on. The package has tests only.
package crashtest
