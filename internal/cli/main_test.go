package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tallyman/internal/config"
	"tallyman/internal/testenv"
	"tallyman/rules"
	"tallyman/rules/catalog"
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
	}, testServices()))
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Setup: func(e *testscript.Env) error {
			root, err := os.Getwd()
			e.Setenv("REPO", root+"/../..")
			return err
		},
	})
}

// exits runs a command that must end with the exit code: exits 2 tallyman nonsense.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v: exit code %d, want %d", args[1:], got, want)
	}
}

func testServices() Services {
	return Services{CheckRules: func(cfg *config.Config, paths []string) RulesReport {
		set := rules.Load(paths)
		if cfg != nil {
			types, problems := catalog.Load(cfg.Types.Path)
			if len(problems) > 0 {
				return RulesReport{Problems: problems}
			}
			var sources []string
			for name := range cfg.Sources {
				sources = append(sources, name)
			}
			rules.Check(set, rules.Known{Sources: sources, Sinks: map[string]string{"inbox": "inbox"}, Types: types})
		}
		return RulesReport{Files: len(set.Files), Rules: len(set.Rules), Problems: set.Problems}
	}}
}
