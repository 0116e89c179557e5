package testenv

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// Where Linux has files in memory, and the room that has to be there for the servers of all tests that run at once.
const (
	memory     = "/dev/shm"
	memoryRoom = 3 << 30
)

// locks are open for as long as the process lives.
var locks struct {
	mu    sync.Mutex
	files []*os.File
}

// serverFolder makes a folder for the files of a server, in memory where there is room: a new database is three hundred
// files, and ext4 looks through all files that were deleted in the last seconds before it makes one. Benchmarks have
// theirs on the disk. A folder in memory has a lock, which its process holds: what processes that were killed have left
// there is removed.
func serverFolder(prefix string) (string, error) {
	if benchmarks() || !roomInMemory() {
		return os.MkdirTemp("", prefix)
	}
	left, _ := filepath.Glob(filepath.Join(memory, prefix+"*", "lock"))
	for _, path := range left {
		if lock := takeLock(path); lock != nil {
			_ = os.RemoveAll(filepath.Dir(path))
			_ = lock.Close()
		}
	}
	dir, err := os.MkdirTemp(memory, prefix)
	if err != nil {
		return "", err
	}
	// The lock is held before it has the name by which others look for it.
	made := filepath.Join(dir, "new")
	if err := os.WriteFile(made, nil, 0o600); err != nil {
		return "", err
	}
	locks.mu.Lock()
	defer locks.mu.Unlock()
	locks.files = append(locks.files, takeLock(made))
	return dir, os.Rename(made, filepath.Join(dir, "lock"))
}

// takeLock opens the file and locks it, or returns nil where another process holds it.
func takeLock(path string) *os.File {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil
	}
	return f
}

func roomInMemory() bool {
	var st syscall.Statfs_t
	return syscall.Statfs(memory, &st) == nil && st.Bavail*uint64(st.Bsize) >= memoryRoom
}
