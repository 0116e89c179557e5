package testenv

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

const faketimeMissing = `libfaketime is not installed, and these tests set the clock of a server with it.
  Debian, Ubuntu: apt-get install faketime         (make test does it, as root)
  macOS:          brew install libfaketime`

var errNoFaketime = errors.New(faketimeMissing)

// findFaketime returns the library.
func findFaketime() (string, error) {
	for _, pattern := range []string{"/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib/faketime/libfaketime.so.1", "/usr/lib64/faketime/libfaketime.so.1"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0], nil
		}
	}
	return "", errNoFaketime
}

// ClockedPostgres starts a PostgreSQL server for one test. SetClock sets the server's clock.
func ClockedPostgres(t testing.TB) *PGServer {
	t.Helper()
	library, err := findFaketime()
	if err != nil {
		t.Fatal(err)
	}
	s, err := makePGServer()
	if err != nil {
		t.Fatal(err)
	}
	s.t = t
	s.env = []string{
		"LD_PRELOAD=" + library, "FAKETIME_TIMESTAMP_FILE=" + s.clockFile(), "FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_DISABLE_SHM=1",
	}
	s.SetClock(0)
	if err := s.begin(s.inst.makeData); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.remove)
	return s
}

// SetClock sets the clock of a ClockedPostgres ahead of the machine's clock, or behind it if ahead is negative.
func (s *PGServer) SetClock(ahead time.Duration) {
	s.t.Helper()
	text := strconv.FormatFloat(ahead.Seconds(), 'f', 3, 64) + "\n"
	if ahead >= 0 {
		text = "+" + text
	}
	next := s.clockFile() + ".next" // A reader sees the old text or the new one.
	// Readable by all, because the server runs as another user.
	if err := os.WriteFile(next, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(next, s.clockFile()); err != nil {
		s.t.Fatal(err)
	}
}

func (s *PGServer) clockFile() string { return filepath.Join(s.root, "clock") }
