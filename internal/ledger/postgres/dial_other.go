//go:build !linux

package postgres

import "syscall"

// boundSilence does nothing here: only keepalive probes on idle connections notice a machine that is gone.
func boundSilence(string, string, syscall.RawConn) error { return nil }
