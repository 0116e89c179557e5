// Package crashtest kills a process that runs the engine, with SIGKILL, in each step of a firing and of a delivery, and
// proves that nothing is lost or doubled. It has tests only.
package crashtest
