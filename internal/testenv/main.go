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

// Main runs the tests of a package, stops the servers that they share, and fails the run when goroutines are left over.
// Each allowed leak needs a comment that says why it is harmless.
//
//	func TestMain(m *testing.M) { testenv.Main(m) }
func Main(m *testing.M, allowed ...goleak.Option) { os.Exit(Run(m, allowed...)) }

// raceChecks is the number of checks of each property-based test under the race detector. Without the detector a test
// makes 100 checks, and under make soak 1000.
const raceChecks = "40"

// Run is Main for a TestMain that has more to do: it returns the exit code.
func Run(m *testing.M, allowed ...goleak.Option) int {
	logging.Disable() // The Redis client logs each server that a test has killed.
	if checks := flag.Lookup("rapid.checks"); Race && checks != nil {
		_ = checks.Value.Set(raceChecks) // A flag on the command line overrides this, because it is parsed later.
	}
	code := m.Run()
	stopShared()
	stopSharedMaria()
	stopSharedRedis()
	if code == 0 {
		// A closed Redis client whose server was down has a dialling goroutine, which ends after a pause of a second.
		allowed = append(allowed, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
		// A latency of Toxiproxy waits forever to pass data on if its connection breaks meanwhile.
		allowed = append(allowed, goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*LatencyToxic).Pipe"))
		if err := goleak.Find(allowed...); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines left over:", err)
			code = 1
		}
	}
	return code
}

// Slow marks a test that takes more than a few seconds, such as a soak, or a test that kills processes. Call it first.
// make quick (go test -short) leaves such a test out, make test does not.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
}

// SoakFor returns how long a test that acts at random goes on: for the time in TALLYMAN_SOAK, or else for the short
// time. make soak sets TALLYMAN_SOAK.
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

// A condition is checked often at first, and then less and less often, because many conditions ask a busy server.
const (
	firstPoll = 2 * time.Millisecond
	lastPoll  = 50 * time.Millisecond
)

// Eventually checks cond until it holds. It fails the test when cond does not hold at the deadline.
func Eventually(t testing.TB, cond func() bool, deadline time.Duration) {
	t.Helper()
	if !poll(cond, deadline) {
		t.Fatalf("the condition still did not hold after %s", deadline)
	}
}

// poll checks cond until it holds or the deadline is over. It returns whether cond holds.
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

// Output collects what several goroutines write, such as a log. A test may read it at any time.
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

// String returns everything that was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
