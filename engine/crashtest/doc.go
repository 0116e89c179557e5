// Package crashtest kills a process that runs the engine, with SIGKILL, in each step of a firing and of a delivery, and
// proves that nothing is lost or doubled.
//
// The test binary starts itself as the process. Before or after a call of the ledger or of the sink the process is
// killed. Then another process goes on. The package has tests only.
package crashtest
