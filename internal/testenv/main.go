package testenv

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

// Main runs the tests of a package, stops the servers that they shared and fails the run when goroutines
// are left over. Each allowed leak needs a comment that says why it is none.
//
//	func TestMain(m *testing.M) { testenv.Main(m) }
func Main(m *testing.M, allowed ...goleak.Option) { os.Exit(Run(m, allowed...)) }

// raceChecks is how many lives of each model a run under the race detector tries, instead of 100 without it; make soak
// tries a thousand.
const raceChecks = "40"

// Run is Main for a TestMain that has more to do: it returns the exit code.
func Run(m *testing.M, allowed ...goleak.Option) int {
	logging.Disable() // the Redis client's words about servers that a test has killed
	if checks := flag.Lookup("rapid.checks"); Race && checks != nil {
		_ = checks.Value.Set(raceChecks) // what the command line says counts more: it is parsed later
	}
	code := m.Run()
	stopShared()
	stopSharedMaria()
	stopSharedRedis()
	if code == 0 {
		// A closed Redis client whose server was down ends its dialling goroutine after the pause of a second that it
		// is in.
		allowed = append(allowed, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
		// A latency of Toxiproxy that held words back when its connection was broken waits for ever to pass them on.
		allowed = append(allowed, goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*LatencyToxic).Pipe"))
		if err := goleak.Find(allowed...); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines left over:", err)
			code = 1
		}
	}
	return code
}

// Slow is called first by a test that takes more than some seconds, such as a soak or one that kills processes: make
// quick leaves it out (go test -short), make test does not.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
}

// SoakFor is how long a test goes on that does things at random until its time is over: short, or what TALLYMAN_SOAK
// says, as make soak does.
func SoakFor(t testing.TB, short time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv("TALLYMAN_SOAK")
	if text == "" {
		return short
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("TALLYMAN_SOAK: %v", err)
	}
	return d
}

// A condition is asked often at first, then less and less often: many ask a server, which has work of its own.
const (
	firstPoll = 2 * time.Millisecond
	lastPoll  = 50 * time.Millisecond
)

// Eventually asks cond until it holds, and fails the test when it still does not after the deadline.
func Eventually(t testing.TB, cond func() bool, deadline time.Duration) {
	t.Helper()
	if !poll(cond, deadline) {
		t.Fatalf("the condition still did not hold after %s", deadline)
	}
}

// poll tells whether cond came to hold within the deadline.
func poll(cond func() bool, deadline time.Duration) bool {
	end := time.Now().Add(deadline)
	for pause := firstPoll; !cond(); pause = min(pause*5/4, lastPoll) {
		left := time.Until(end)
		if left <= 0 {
			return cond()
		}
		<-time.After(min(pause, left))
	}
	return true
}

// Output keeps what several goroutines write, such as a log, for a test to read meanwhile.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String is all that was written by now.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
