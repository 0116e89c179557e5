package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"tallyman/internal/ledger"
)

// errLocked is the operating system's answer that another open file holds the lock.
var errLocked = errors.New("locked")

// fileLock is a lock on the file beside the ledger, held by this process. The lock belongs to the operating system
// and does not depend on whether the file exists. So a file that a killed process left behind blocks nobody.
type fileLock struct {
	f *os.File
}

// lockFile locks the ledger at path. ErrInUse names the process that holds the lock.
func lockFile(path string) (*fileLock, error) {
	name := path + ".lock"
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if err := lockHandle(f); err != nil {
		_ = f.Close()
		if errors.Is(err, errLocked) {
			return nil, fmt.Errorf("%w: %s is held by %s", ledger.ErrInUse, path, holder(name))
		}
		return nil, fmt.Errorf("ledger: lock %s: %w", name, err)
	}
	l := &fileLock{f}
	if err := l.sign(); err != nil {
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}

// sign writes this process into the file, for the error message of other processes.
func (l *fileLock) sign() error {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	text := fmt.Sprintf("process %d on %s since %s\n", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	err = l.f.Truncate(0)
	if err == nil {
		_, err = l.f.WriteAt([]byte(text), 0)
	}
	if err != nil {
		return fmt.Errorf("ledger: sign the lock: %w", err)
	}
	return nil
}

func holder(name string) string {
	b, err := os.ReadFile(name)
	if text := strings.TrimSpace(string(b)); err == nil && text != "" {
		return text
	}
	return "another process"
}

// release unlocks explicitly before it closes the file, because a child process that is just starting may still have
// the handle. release does not remove the file: otherwise two processes could hold locks on two files with the same
// name.
func (l *fileLock) release() error {
	if err := errors.Join(unlockHandle(l.f), l.f.Close()); err != nil {
		return fmt.Errorf("ledger: release the lock: %w", err)
	}
	return nil
}
