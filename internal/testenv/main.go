package testenv

import (
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

// Main runs the tests of a package, stops the servers that they shared and fails the run when goroutines
// are left over. Each allowed leak needs a comment that says why it is none.
//
//	func TestMain(m *testing.M) { testenv.Main(m) }
func Main(m *testing.M, allowed ...goleak.Option) { os.Exit(Run(m, allowed...)) }

// Run is Main for a TestMain that has more to do: it returns the exit code.
func Run(m *testing.M, allowed ...goleak.Option) int {
	logging.Disable() // the Redis client's words about servers that a test has killed
	code := m.Run()
	stopShared()
	stopSharedMaria()
	stopSharedRedis()
	if code == 0 {
		// A closed Redis client whose server was down ends its dialling goroutine after the pause of a second that it is in.
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
