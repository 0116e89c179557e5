package inbox

import (
	"testing"

	"go.uber.org/goleak"

	"tallyman/internal/testenv"
)

// A client whose server was out of reach keeps one goroutine that tries to reach it; it ends up to a second after the
// client was closed, which is longer than goleak waits.
func TestMain(m *testing.M) {
	testenv.Main(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}
