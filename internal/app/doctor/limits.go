//go:build linux || darwin

package doctor

import "golang.org/x/sys/unix"

// openFiles returns how many files the process may open.
func openFiles() (limit uint64, known bool) {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 0, false
	}
	return r.Cur, true
}

// space returns the free and the whole space of the disk with the folder, in bytes.
func space(folder string) (free, size uint64, known bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, 0, false
	}
	block := uint64(max(int64(s.Bsize), 0)) //nolint:unconvert // the type differs between systems
	return s.Bavail * block, s.Blocks * block, true
}
