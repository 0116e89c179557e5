//go:build !linux && !darwin

package doctor

// openFiles returns false: the limit of this system is not known.
func openFiles() (limit uint64, known bool) { return 0, false }

// space returns false: the system is not asked.
func space(string) (free, size uint64, known bool) { return 0, 0, false }
