package postgres

import (
	"errors"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// boundSilence makes the kernel break a connection whose other end acknowledges nothing for maxSilence. By default
// the kernel retransmits for about a quarter of an hour.
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
