package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockHandle locks a byte far behind the text, so that others can still read the text.
func lockHandle(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, farByte())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}

func unlockHandle(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, farByte())
}

func farByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1} }
