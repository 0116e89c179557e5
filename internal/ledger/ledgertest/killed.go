package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"tallyman/internal/ledger"
)

// childTask, when set, makes the test binary of an engine the process that is killed: it has the number of a recorded change, the step to die at, and the place of
// the ledger, a line each.
const childTask = "TALLYMAN_LEDGERTEST_CHILD"

// Main is for the first line of an engine's TestMain: in a process that is to be killed it makes the change, and does not return.
func Main(open func(ctx context.Context, place string, opts ledger.Options) (ledger.Ledger, error)) {
	task := os.Getenv(childTask)
	if task == "" {
		return
	}
	if err := childMain(task, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(1) //nolint:forbidigo // this is the main function of the child, which should have died
}

func childMain(task string, open func(ctx context.Context, place string, opts ledger.Options) (ledger.Ledger, error)) error {
	parts := strings.SplitN(task, "\n", 3)
	n, err := strconv.Atoi(parts[0])
	if err != nil {
		return err
	}
	ctx := context.Background()
	l, err := open(ctx, parts[2], ledger.Options{Now: newClock(start).Now, Step: func(step string) {
		if step == parts[1] {
			die()
		}
	}})
	if err != nil {
		return err
	}
	return recordedChanges()[n].do(ctx, l, Ann)
}

// die ends the process as SIGKILL does: nothing runs any more, no deferred call, no flush.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill() // what comes back is told by the exit
	}
	select {}
}

// dieIn makes the change in a process that dies at the step.
func dieIn(t testing.TB, place string, n int, step string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // the test itself
	c.Env = append(os.Environ(), childTask+"="+strconv.Itoa(n)+"\n"+step+"\n"+place)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("change %d did not die at %s: %v\n%s", n, step, err, out)
	}
}

// CheckKilled makes each recorded change of a ledger in processes that are killed at each of its steps. What was changed is recorded then, and the other way round.
// open opens the ledger in that place with the clock of the tests; it is closed while a process has it.
func CheckKilled(t *testing.T, place string, open func(t testing.TB, opts ledger.Options) ledger.Ledger) {
	t.Helper()
	looked := func(prepare func(context.Context, ledger.Ledger) error) everything {
		l := open(t, ledger.Options{Now: newClock(start).Now})
		defer func() { noError(t, l.Close()) }()
		if prepare != nil {
			noError(t, prepare(t.Context(), l))
		}
		noError(t, CheckAudit(t.Context(), l))
		e, err := look(t.Context(), l)
		noError(t, err)
		return e
	}
	for n, c := range recordedChanges() {
		before := looked(c.prepare)
		for _, step := range []string{ledger.StepChanged, ledger.StepRecorded} {
			dieIn(t, place, n, step)
			equal(t, before, looked(nil))
		}
		dieIn(t, place, n, ledger.StepCommitted)
		if after := looked(nil); after.Records != before.Records+1 {
			t.Fatalf("%s left %d records", c.method, after.Records-before.Records)
		}
	}
}
