package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"tallyman/internal/api/metrics"
	"tallyman/internal/auth"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

const (
	benchStreams    = 10_000
	benchWarehouses = 20
	benchRoles      = 1_000 // each of ten users in one warehouse
	benchNotices    = 100   // a second
)

// BenchmarkStreams opens 10,000 streams of as many users from another process, and says what one costs this process while it
// is idle: heap and stacks after a collection, and the resident set. Then 100 notices a second are delivered, and it says how
// long they take from before the commit to the index until the client has read them: notices to one user, to a role of
// ten, and to everybody in a warehouse of 500. The goals are 30 KB and a p99 of 50 ms for users and roles.
func BenchmarkStreams(b *testing.B) {
	in := newRealInbox(b, testenv.Redis(b).Addr)
	m, err := metrics.New("bench", "go")
	if err != nil {
		b.Fatal(err)
	}
	a := newAPI(&parts{
		Inbox: in, Catalogue: newFakeCatalogue(), Auth: auth.None{}, Gatherer: m.Gatherer(), Meter: m, Logger: slog.New(slog.DiscardHandler),
		Status: func(context.Context) (wire.StatusReport, error) { return wire.StatusReport{}, nil },
		Ready:  func(context.Context) error { return nil },
	})
	clients := startClients(b, serve(b, a.Serve))
	before := memoryNow(b)
	clients.ask(b, "open "+strconv.Itoa(benchStreams))
	after := memoryNow(b)
	for b.Loop() {
		for _, mix := range []struct {
			name string
			rate int
			to   func(i int) (warehouse, subscriber string)
		}{
			{"user", benchNotices, func(i int) (string, string) { return benchPlace(i * 7919 % benchStreams) }},
			{"role10", benchNotices, func(i int) (string, string) {
				w, _ := benchPlace(i * 7919 % benchRoles)
				return w, "role:" + strconv.Itoa(i*7919%benchRoles)
			}},
			{"all500", 5, func(i int) (string, string) {
				w, _ := benchPlace(i)
				return w, "role:all"
			}},
		} {
			due := time.NewTicker(time.Second / time.Duration(mix.rate))
			for i := range 10 * mix.rate {
				<-due.C
				w, s := mix.to(i)
				in.deliver(b, w, []string{s}, "T"+strconv.FormatInt(time.Now().UnixNano(), 10))
			}
			due.Reset(time.Second)
			<-due.C // for the last ones
			due.Stop()
			var n int
			var p50, p99 float64
			if _, err := fmt.Sscan(clients.ask(b, "report"), &n, &p50, &p99); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(p50, mix.name+"-p50-ms")
			b.ReportMetric(p99, mix.name+"-p99-ms")
			b.ReportMetric(float64(n), mix.name+"-events")
		}
	}
	// Not before: the loop's first turn forgets what was reported.
	b.ReportMetric(float64(after.live-before.live)/benchStreams/1024, "KB/stream(goal≤30)")
	b.ReportMetric(float64(after.resident-before.resident)/benchStreams/1024, "KB-resident/stream")
}

// benchPlace is where the i-th user works.
func benchPlace(i int) (warehouse, subscriber string) {
	return "W" + strconv.Itoa(i%benchWarehouses), "user:" + strconv.Itoa(i)
}

func benchPath(i int) string {
	w, s := benchPlace(i)
	return fmt.Sprintf("/api/v1/notices/stream?warehouse=%s&subscriber=%s&subscriber=role:%d&subscriber=role:all", w, s, i%benchRoles)
}

// memory is what this process uses.
type memory struct{ live, resident uint64 }

func memoryNow(b *testing.B) memory {
	b.Helper()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	pages, err := strconv.ParseUint(strings.Fields(string(statm))[1], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return memory{live: m.HeapAlloc + m.StackInuse, resident: pages * uint64(os.Getpagesize())}
}

// clientsProcess is the other process.
type clientsProcess struct {
	in  io.Writer
	out *bufio.Reader
}

// clientsEnv has the address of the server for the other process.
const clientsEnv = "TALLYMAN_BENCH_STREAMS"

func startClients(b *testing.B, addr string) *clientsProcess {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), clientsEnv+"="+addr)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close() // it ends then
		_ = cmd.Wait()
	})
	return &clientsProcess{in, bufio.NewReader(out)}
}

// ask gives an order and waits until it is carried out.
func (c *clientsProcess) ask(b *testing.B, order string) string {
	b.Helper()
	fmt.Fprintln(c.in, order)
	line, err := c.out.ReadString('\n')
	if err != nil {
		b.Fatalf("%s: %v", order, err)
	}
	return strings.TrimSpace(line)
}

// dialStream opens a stream and reads up to the first event unread.
func dialStream(addr string, i int) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", addr)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n", benchPath(i))
	return conn, err
}
