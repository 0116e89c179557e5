//go:build !unix

package webhook

import "syscall"

const canLook = false

func isQuiet(syscall.RawConn) bool { return false }
