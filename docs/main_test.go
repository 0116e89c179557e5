package docs

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"tallyman/internal/cli"
	"tallyman/internal/testenv"
)

// asProgram is the variable that makes the test binary be the program, so that commands of the pages can run without a build.
const asProgram = "TALLYMAN_DOCS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(testenv.Run(m)) //nolint:forbidigo // the end of the tests
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(cli.Run(ctx, cli.Process{ //nolint:forbidigo,gocritic // a program of its own
		Args: os.Args[1:], Env: os.Environ(), In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
	}, cli.Default()))
}
