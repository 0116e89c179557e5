package testenv

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// The folder of files in memory on Linux, and the free space that the servers of all concurrent tests need there.
const (
	memory     = "/dev/shm"
	memoryRoom = 3 << 30
)

// locks keeps the lock files open until the process ends.
var locks struct {
	mu    sync.Mutex
	files []*os.File
}

// serverFolder makes a folder for the files of a server, in memory where there is room. A new database has three
// hundred files, and ext4 is slow at making files after many were deleted. Benchmarks use the disk. The process holds a
// lock on its folder in memory. So a later process can remove the folders of killed processes.
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
	// Take the lock before the file gets its final name, so that no other process sees the folder without a lock.
	made := filepath.Join(dir, "new")
	if err := os.WriteFile(made, nil, 0o600); err != nil {
		return "", err
	}
	locks.mu.Lock()
	defer locks.mu.Unlock()
	locks.files = append(locks.files, takeLock(made))
	return dir, os.Rename(made, filepath.Join(dir, "lock"))
}

// takeLock opens the file and locks it. It returns nil where another process holds the lock.
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
