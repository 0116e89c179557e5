package postgres

import (
	"errors"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// boundSilence has the kernel break a connection whose other machine takes nothing of what it is sent for maxSilence. By default the kernel repeats
// itself for a quarter of an hour.
func boundSilence(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var refused error
	err := c.Control(func(fd uintptr) {
		refused = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(maxSilence.Milliseconds()))
	})
	return errors.Join(err, refused)
}
