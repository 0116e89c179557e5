package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	latencyRate    = 1000 // jobs a second, one at a time
	latencyJobs    = 6000
	latencyWarmup  = 1000 // the first jobs, which do not count
	latencyPushers = 16
)

// BenchmarkLatency measures the time from the moment when a job should be pushed to the moment when a worker has the
// job, at 1,000 jobs a second and 8 workers. An iteration is a round. The latencies of all rounds count together. The
// processor time is from the first round.
func BenchmarkLatency(b *testing.B) {
	s := newServers(b)
	list := []contender{lists(), asynqOne(), asynqMany(), viaRiver(), tallyman(), withLedger()}
	taken := map[string][]time.Duration{}
	cpu := map[string][]usage{}
	for round := 0; b.Loop(); round++ {
		for i := range list {
			k := list[(round+i)%len(list)]
			r := measure(b, s, k, cell{batch: 1, workers: 8}, func(ctx context.Context, r *run) sample {
				return r.timed(ctx, func() int64 {
					taken[k.name] = append(taken[k.name], arriving(ctx, r)...)
					return latencyJobs
				})
			})
			cpu[k.name] = append(cpu[k.name], r.cpu)
		}
	}
	b.ReportMetric(0, "ns/op")
	t := newTable(fmt.Sprintf("push to lease at %d jobs a second, ms; processor time per million jobs, s", latencyRate),
		"", "p50", "p99", "p99.9", "most", "Redis", "PostgreSQL", "client")
	for _, k := range list {
		times, u := taken[k.name], cpu[k.name][0]
		slices.Sort(times)
		at := func(part float64) float64 { return milliseconds(times[int(part*float64(len(times)-1))]) }
		row := []string{k.name}
		for _, part := range []float64{.5, .99, .999, 1} {
			row = append(row, fmt.Sprintf("%.2f", at(part)))
		}
		t.row(append(row, thousands(u.redis), thousands(u.postgres), thousands(u.client))...)
		b.ReportMetric(at(.99), "ms-p99:"+unit(k.name))
	}
	t.print()
}

// arriving pushes jobs at an even rate, however long the answers take. It returns how long each job was on its way,
// without the jobs of the warm-up.
func arriving(ctx context.Context, r *run) []time.Duration {
	began := time.Now()
	var due, got [latencyJobs]atomic.Int64 // ns since began
	r.start(ctx, func(payload []byte) { got[number(payload)].Store(int64(time.Since(began))) })
	next := make(chan int, latencyJobs)
	var failed atomic.Value
	var pushers sync.WaitGroup
	for range latencyPushers {
		pushers.Go(func() {
			for n := range next {
				if err := r.q.push(ctx, jobs(n, 1)); err != nil {
					failed.Store(err)
				}
				r.pushed.Add(1)
			}
		})
	}
	tick := time.NewTicker(time.Second / latencyRate)
	defer tick.Stop()
	for n := 0; n < latencyJobs; {
		<-tick.C
		for now := time.Since(began); n < latencyJobs && n < int(now.Seconds()*latencyRate); n++ {
			due[n].Store(int64(now))
			next <- n
		}
	}
	close(next)
	pushers.Wait()
	if err := failed.Load(); err != nil {
		r.t.Fatal(r.k.name, "push:", err)
	}
	r.finish(ctx)
	var times []time.Duration
	for n := latencyWarmup; n < latencyJobs; n++ {
		times = append(times, time.Duration(got[n].Load()-due[n].Load()))
	}
	return times
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// usage is spent processor time, in seconds.
type usage struct{ redis, postgres, client float64 }

func (s *servers) usage(ctx context.Context, t testing.TB) usage {
	t.Helper()
	return usage{
		redis:    s.info(ctx, t, "cpu", "used_cpu_user") + s.info(ctx, t, "cpu", "used_cpu_sys"),
		postgres: s.postgresCPU(),
	}
}

// clientCPU returns the processor time of this process, in seconds. Read it right before and right after the measured
// work, because reading the usage of the servers takes processor time of this process.
func clientCPU(t testing.TB) float64 {
	t.Helper()
	var self syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		t.Fatal(err)
	}
	return time.Duration(self.Utime.Nano() + self.Stime.Nano()).Seconds()
}

// since returns the usage per million jobs since before.
func (u usage) since(before usage, jobs int64) usage {
	per := func(now, then float64) float64 { return (now - then) / float64(jobs) * 1e6 }
	return usage{per(u.redis, before.redis), per(u.postgres, before.postgres), per(u.client, before.client)}
}

// postgresCPU returns the processor time of the server and its children, in seconds. It includes children that have
// ended. Without /proc it is 0.
func (s *servers) postgresCPU() float64 {
	if s.pid == 0 {
		return 0
	}
	// A child that ends during the sum would count twice, or not at all. Then the sum is made again.
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

// process has values of a process from /proc: its parent, its own time, and the time of its ended children. Times are
// in ticks.
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

const memoryJobs = 50_000

// BenchmarkMemory measures the memory of Redis and the disk space of PostgreSQL that a waiting job takes, with its 300
// bytes of payload.
func BenchmarkMemory(b *testing.B) {
	s := newServers(b)
	list := []contender{lists(), asynqOne(), asynqUnique(), viaRiver(), tallyman(), tallymanKeyed(), withLedger()}
	type size struct{ redis, postgres float64 }
	sizes := map[string]size{}
	for b.Loop() {
		for _, k := range list {
			measure(b, s, k, cell{batch: 1, workers: 1}, func(ctx context.Context, r *run) sample {
				redis, postgres := s.info(ctx, b, "memory", "used_memory"), s.diskOf(ctx, b)
				r.load(ctx, memoryJobs)
				n := float64(r.pushed.Load())
				sizes[k.name] = size{(s.info(ctx, b, "memory", "used_memory") - redis) / n, (s.diskOf(ctx, b) - postgres) / n}
				return sample{}
			})
		}
	}
	b.ReportMetric(0, "ns/op")
	t := newTable(fmt.Sprintf("bytes per waiting job with a payload of %d", payloadSize), "", "Redis", "PostgreSQL")
	for _, k := range list {
		t.row(k.name, thousands(sizes[k.name].redis), thousands(sizes[k.name].postgres))
		b.ReportMetric(sizes[k.name].redis, "B:"+unit(k.name))
	}
	t.print()
}

// diskOf returns the size of all databases in use, in bytes.
func (s *servers) diskOf(ctx context.Context, t testing.TB) float64 {
	t.Helper()
	sum := 0.0
	for _, url := range s.urls {
		c, err := pgx.Connect(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		var bytes float64
		err = c.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&bytes)
		_ = c.Close(ctx)
		if err != nil {
			t.Fatal(err)
		}
		sum += bytes
	}
	return sum
}
