//go:build linux

package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// meter tells how much time of processors a benchmark takes, which others who use the machine change little.
type meter struct {
	postmaster  string // "" = no server
	own, server time.Duration
}

// newMeter reads the time of this process and, where there is a URL, of the server there.
func newMeter(b *testing.B, url string) *meter {
	b.Helper()
	m := &meter{}
	if url != "" {
		conn, err := pgx.Connect(b.Context(), url)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = conn.Close(b.Context()) }()
		var pid int
		if err := conn.QueryRow(b.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
			b.Fatal(err)
		}
		m.postmaster = processOf(b, strconv.Itoa(pid))[1]
	}
	return m
}

// during adds what something takes.
func (m *meter) during(b *testing.B, do func()) {
	b.Helper()
	own, server := ownTime(b), m.serverTime(b)
	do()
	m.own += ownTime(b) - own
	m.server += m.serverTime(b) - server
}

// report tells the microseconds for each of n.
func (m *meter) report(b *testing.B, n int) {
	b.Helper()
	each := func(d time.Duration) float64 { return d.Seconds() * 1e6 / float64(n) }
	b.ReportMetric(each(m.own), "own-cpu-us/delivery")
	if m.postmaster != "" {
		b.ReportMetric(each(m.server), "server-cpu-us/delivery")
	}
}

func ownTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// serverTime is what the server's processes have used so far.
func (m *meter) serverTime(b *testing.B) time.Duration {
	b.Helper()
	if m.postmaster == "" {
		return 0
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		b.Fatal(err)
	}
	var ticks int64
	for _, path := range all {
		p := processOf(b, filepath.Base(path))
		if len(p) < 13 || p[1] != m.postmaster {
			continue
		}
		for _, text := range p[11:13] {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			ticks += n
		}
	}
	return time.Duration(ticks) * time.Second / 100
}

// processOf returns what /proc tells of a process, from its state on: [1] is its parent, [11] and [12] its time in
// hundredths of a second; nil of one that is gone.
func processOf(b *testing.B, pid string) []string {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", pid))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return strings.Fields(rest)
}
