package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tallyman/internal/app"
	"tallyman/internal/cli"
	"tallyman/internal/config"
	"tallyman/internal/testenv"
)

// The environment of a node's process. childNode makes this test binary that process: `tallyman serve` with shorter
// leases.
const (
	childNode    = "TALLYMAN_E2E_NODE"    // its name
	childLease   = "TALLYMAN_E2E_LEASE"   // of firings and lanes
	childGrace   = "TALLYMAN_E2E_GRACE"   // of a stop; the default where empty
	childDies    = "TALLYMAN_E2E_DIES"    // the step in which it kills itself, or "step*3", the third time; none where empty
	childFreezes = "TALLYMAN_E2E_FREEZES" // the step in which it stops itself, the first time; none where empty
	childAhead   = "TALLYMAN_E2E_AHEAD"   // by how much its machine's clock is ahead; see wrongClock
)

func TestMain(m *testing.M) {
	if os.Getenv(childNode) != "" {
		os.Exit(child()) //nolint:forbidigo // this is the main function of the child
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // the tests wait for leases more than for processors
		panic(err)
	}
	testenv.Main(m)
}

// child is main of cmd/tallyman, and ends with its parent.
func child() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	services := cli.Default()
	services.Serve = serve
	return cli.Run(ctx, cli.Process{Args: os.Args[1:], Env: os.Environ(), In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, services)
}

// serve does what tallyman serve does, with options that only tests have.
func serve(ctx context.Context, cfg *config.Config, o cli.ServeOptions) (err error) {
	options := app.Options{Logger: o.Logger, Version: o.Version, Node: os.Getenv(childNode), Step: fate(os.Getenv(childDies), os.Getenv(childFreezes))}
	if options.Lease, err = duration(childLease); err != nil {
		return err
	}
	if options.StopGrace, err = duration(childGrace); err != nil {
		return err
	}
	ahead, err := duration(childAhead)
	if err != nil {
		return err
	}
	if ahead != 0 {
		options.Clock = newWrongClock(ctx, ahead)
	}
	node, err := app.New(ctx, cfg, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }() //nolint:contextcheck // what is given back must not depend on a context that may be over
	o.Ready(node.Addr())
	return node.Run(ctx)
}

func duration(variable string) (time.Duration, error) {
	text := os.Getenv(variable)
	if text == "" {
		return 0, nil
	}
	return time.ParseDuration(text)
}

// wrongClock is a wrong clock of a machine. SIGUSR1 sets it back by an hour.
type wrongClock struct{ ahead atomic.Int64 }

func newWrongClock(ctx context.Context, ahead time.Duration) *wrongClock {
	c := &wrongClock{}
	c.ahead.Store(int64(ahead))
	set := make(chan os.Signal, 1)
	signal.Notify(set, syscall.SIGUSR1)
	go func() {
		defer signal.Stop(set)
		select {
		case <-set:
			c.ahead.Add(-int64(time.Hour))
		case <-ctx.Done():
		}
	}()
	return c
}

// Now returns the time of the machine, without a monotonic reading.
func (c *wrongClock) Now() time.Time { return time.Now().Round(0).Add(time.Duration(c.ahead.Load())) }

// Real returns d.
func (*wrongClock) Real(d time.Duration) time.Duration { return d }

// frozen is what a node prints before it freezes itself.
const frozen = "Frozen"

// fate kills the process in a step, or freezes it in another until SIGCONT. SIGKILL runs nothing: no deferred call, no
// flush.
func fate(dies, freezes string) func(step string) {
	var once sync.Once
	var count atomic.Int64
	dies, text, _ := strings.Cut(dies, "*")
	times, _ := strconv.ParseInt(text, 10, 64)
	return func(step string) {
		switch step {
		case dies:
			if count.Add(1) < times {
				return
			}
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		case freezes:
			once.Do(func() {
				fmt.Fprintln(os.Stdout, frozen)
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			})
		}
	}
}
