package bench

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// usage is the processor time that has been spent, in seconds.
type usage struct{ redis, postgres, client float64 }

func (s *servers) usage(ctx context.Context, t testing.TB) usage {
	t.Helper()
	return usage{
		redis:    s.info(ctx, t, "cpu", "used_cpu_user") + s.info(ctx, t, "cpu", "used_cpu_sys"),
		postgres: s.postgresCPU(),
	}
}

// clientCPU is that of this process. Whoever measures looks at it next to what is measured: to look at the others costs some.
func clientCPU(t testing.TB) float64 {
	t.Helper()
	var self syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		t.Fatal(err)
	}
	return time.Duration(self.Utime.Nano() + self.Stime.Nano()).Seconds()
}

// since is what was spent per million jobs.
func (u usage) since(before usage, jobs int64) usage {
	per := func(now, then float64) float64 { return (now - then) / float64(jobs) * 1e6 }
	return usage{per(u.redis, before.redis), per(u.postgres, before.postgres), per(u.client, before.client)}
}

// postgresCPU adds up the server and its children, those that have ended too. Where there is no /proc it is 0.
func (s *servers) postgresCPU() float64 {
	if s.pid == 0 {
		return 0
	}
	// A child that ends while they are added up counts twice, or not at all.
	before, ticks, after := s.postmasterTicks(), s.childrenTicks(), s.postmasterTicks()
	for before.ended != after.ended {
		before, ticks, after = after, s.childrenTicks(), s.postmasterTicks()
	}
	const perSecond = 100 // USER_HZ of Linux
	return float64(ticks+after.own+after.ended) / perSecond
}

func (s *servers) postmasterTicks() process {
	p, _ := readProcess(s.pid)
	return p
}

func (s *servers) childrenTicks() int {
	list, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	ticks := 0
	for _, path := range list {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if p, found := readProcess(pid); found && p.parent == s.pid {
			ticks += p.own
		}
	}
	return ticks
}

// process is a line of /proc, in ticks: its own time, and that of its children that have ended.
type process struct{ parent, own, ended int }

func readProcess(pid int) (process, bool) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return process{}, false
	}
	// The second field is the name in brackets, which may have spaces; the third to the seventeenth follow it.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 15 {
		return process{}, false
	}
	at := func(field int) int {
		n, err := strconv.Atoi(fields[field-3])
		if err != nil {
			return 0
		}
		return n
	}
	return process{parent: at(4), own: at(14) + at(15), ended: at(16) + at(17)}, true
}
