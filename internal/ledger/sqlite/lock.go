package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"tallyman/internal/ledger"
)

// errLocked is the operating system's answer that another open file has the lock.
var errLocked = errors.New("locked")

// fileLock is a held lock on the file beside the ledger. The lock is the system's, not the file's existence: a
// file that a killed process left behind holds up nobody.
type fileLock struct {
	f *os.File
}

// lockFile takes the lock of the ledger at path. ErrInUse names the holder.
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

// sign writes who has the lock, for the message of those who want it.
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

// release gives the lock back, by name and not just by closing: a child that this process is about to start may
// have the handle for an instant. The file stays: removing it would let two processes hold locks on two
// files of the same name.
func (l *fileLock) release() error {
	if err := errors.Join(unlockHandle(l.f), l.f.Close()); err != nil {
		return fmt.Errorf("ledger: release the lock: %w", err)
	}
	return nil
}
