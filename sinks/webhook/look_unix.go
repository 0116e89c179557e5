//go:build unix

package webhook

import (
	"errors"
	"syscall"
)

// canLook tells whether isQuiet works here.
const canLook = true

// isQuiet tells whether nothing has come on a connection that waits, neither its end nor a word.
func isQuiet(c syscall.RawConn) bool {
	var found error
	err := c.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, found = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
		return true
	})
	return err == nil && errors.Is(found, syscall.EAGAIN)
}
