package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tallyman/internal/testenv"
)

func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){"tallyman": program})
}

// leakChecked is the tests with testenv's checks after them.
type leakChecked struct{ *testing.M }

// Run runs the tests and returns the exit code.
func (l leakChecked) Run() int { return testenv.Run(l.M) }

// program is what cmd/tallyman does.
func program() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(Run(ctx, Process{ //nolint:forbidigo // a program of its own
		Args: os.Args[1:], Env: os.Environ(), In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Hangup: func() <-chan os.Signal {
			c := make(chan os.Signal, 1)
			signal.Notify(c, syscall.SIGHUP)
			return c
		},
	}, Default()))
}
