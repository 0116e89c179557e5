package ledgertest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

var auditTests = []testCase{
	{"changes are listed as they were recorded, the latest first", func(t *testing.T, f *fixture) {
		full := ledger.Change{
			By: "user:ann", Via: ledger.ViaToken("t_1"), Action: "rule.disable", Object: "rule:a:119240",
			Before: json.RawMessage(`{"enabled":true}`), After: json.RawMessage(`{"enabled":false,"reason":"<é>"}`), Reason: "stocktake",
		}
		bare := ledger.Change{By: "node:one", Via: ledger.ViaFile, Action: "rules.reload", Object: "rules"}
		noError(t, f.AddChange(t.Context(), &full))
		f.clock.Add(time.Minute)
		noError(t, f.other(t).AddChange(t.Context(), &bare))
		got := f.changes(t, ledger.ChangeFilter{})
		equal(t, 2, len(got))
		if got[0].Seq <= got[1].Seq {
			t.Errorf("the later one has the number %d, the earlier one %d", got[0].Seq, got[1].Seq)
		}
		full.Seq, full.At, bare.Seq, bare.At = got[1].Seq, start, got[0].Seq, start.Add(time.Minute)
		equal(t, []ledger.Change{bare, full}, got)
	}},
	{"changes are found by object, kind, who, action and time, page by page", func(t *testing.T, f *fixture) {
		for i, c := range []ledger.Change{
			{By: "user:ann", Action: "rule.disable", Object: "rule:a"},
			{By: "user:bo", Action: "rule.enable", Object: "rule:a:119240"},
			{By: "user:ann", Action: "rule.disable", Object: "rule:ab"},
			{By: "user:ann", Action: "type.put", Object: "type:A_%"},
			{By: "user:bo", Action: "rules.reload", Object: "rules"},
		} {
			c.Via, c.Reason = ledger.ViaNone, fmt.Sprint(i)
			noError(t, f.AddChange(t.Context(), &c))
			f.clock.Add(time.Second)
		}
		for _, c := range []struct {
			filter ledger.ChangeFilter
			want   []string
		}{
			{ledger.ChangeFilter{}, []string{"4", "3", "2", "1", "0"}},
			{ledger.ChangeFilter{Object: "rule:a"}, []string{"1", "0"}},
			{ledger.ChangeFilter{Object: "rule"}, []string{"2", "1", "0"}},
			{ledger.ChangeFilter{Object: "type:A_%"}, []string{"3"}},
			{ledger.ChangeFilter{By: "user:bo"}, []string{"4", "1"}},
			{ledger.ChangeFilter{Action: "rule"}, []string{"2", "1", "0"}},
			{ledger.ChangeFilter{Action: "rule.disable", By: "user:ann", Object: "rule:ab"}, []string{"2"}},
			{ledger.ChangeFilter{Since: start.Add(3 * time.Second)}, []string{"4", "3"}},
			{ledger.ChangeFilter{Object: "none"}, nil},
		} {
			equal(t, c.want, reasonsOf(f.changes(t, c.filter)))
		}
		var paged []string
		page := ledger.ChangeFilter{Limit: 2}
		for list := f.changes(t, page); len(list) > 0; list = f.changes(t, page) {
			paged = append(paged, reasonsOf(list)...)
			page.Before = list[len(list)-1].Seq
		}
		equal(t, []string{"4", "3", "2", "1", "0"}, paged)
	}},
	{"changes outlive the retention", func(t *testing.T, f *fixture) {
		noError(t, f.AddChange(t.Context(), &ledger.Change{By: "user:ann", Via: ledger.ViaNone, Action: "rule.run", Object: "rule:a"}))
		_, err := f.Prune(t.Context(), start.Add(10*365*24*time.Hour), 0)
		noError(t, err)
		equal(t, 1, len(f.changes(t, ledger.ChangeFilter{})))
	}},
}

// Ann is the author of most changes in tests.
var Ann = author("user:ann")

// author returns an author who was authenticated by a token.
func author(who string) ledger.Author { return ledger.Author{By: who, Via: ledger.ViaToken("t_1")} }

func (f *operationChecks) changes(t testing.TB, filter ledger.ChangeFilter) []ledger.Change {
	t.Helper()
	if filter.Limit == 0 {
		filter.Limit = 1000
	}
	list, more, err := f.Changes(t.Context(), filter)
	noError(t, err)
	if more && filter.Limit == 1000 {
		t.Fatal("there are more records than a page has")
	}
	return list
}

func reasonsOf(list []ledger.Change) []string {
	var reasons []string
	for _, c := range list {
		reasons = append(reasons, c.Reason)
	}
	return reasons
}

func canceling(seqs ...int64) func(context.Context, ledger.Ledger, ledger.Author) error {
	return func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
		return second(l.CancelDeliveries(ctx, who, seqs, "by phone"))
	}
}

func retrying(seqs ...int64) func(context.Context, ledger.Ledger, ledger.Author) error {
	return func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
		_, _, err := l.RetryDeliveries(ctx, who, seqs)
		return err
	}
}

func taking(version string) func(context.Context, ledger.Ledger, ledger.Author) error {
	return func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
		return second(l.TakeRules(ctx, who, 0, &ledger.RulesVersion{Version: version, Rules: 2, Added: []string{rule}}))
	}
}

// ordered is the name of a queue with orders, which leave audit records.
const ordered = "ordered"

// queued pushes items to the queue ordered and begins its epoch.
func queued(ctx context.Context, l ledger.Ledger) error {
	if err := l.BeginEpoch(ctx, ordered, "", ledger.IndexState{Epoch: "e1"}, "a", 0); err != nil {
		return err
	}
	_, err := l.PushItems(ctx, ordered, []item.Record{newItem("i_1"), newItem("i_2")})
	return err
}

func changing(c item.SettingsChange) func(context.Context, ledger.Ledger, ledger.Author) error {
	return func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
		c.Set.By = who.By
		return l.ChangeQueueSettings(ctx, &item.Order{By: who.By, Via: string(who.Via)}, ordered, c)
	}
}

func pausing(queue string, p item.Pause) func(context.Context, ledger.Ledger, ledger.Author) error {
	return func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
		return l.SetQueuePause(ctx, &item.Order{By: who.By, Via: string(who.Via)}, queue, p)
	}
}

// ordering returns a change that removes an item from the queue ordered. The change applies the move at the position of
// the queue's outbox, as the drain does.
func ordering(position int64, id string) func(context.Context, ledger.Ledger, ledger.Author) error {
	return func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
		r, _, err := l.ItemTrace(ctx, ordered, id)
		if err != nil {
			return err
		}
		return l.ApplyMoves(ctx, ordered, "e1", []item.Moves{{
			Position: position, List: []item.Move{{Seq: r.Seq, N: 1, At: start, From: item.Ready, To: item.Removed, By: who.By, Node: "a"}},
			Changes: []item.Change{{
				Order: item.Order{
					By: who.By, Via: string(who.Via), Action: "item.remove", Object: "item:" + ordered + ":" + id, Reason: "by mistake",
					Asked: json.RawMessage(`{"force":true}`),
				},
				At: start, Done: json.RawMessage(`[{"op":"remove","id":"` + id + `"}]`),
			}},
		}})
	}
}

// childTask is an environment variable. When it is set, the test binary of an engine is the process to be killed. The
// value has, one line each, the number of a recorded change, the step to die at, and the place of the ledger.
const childTask = "TALLYMAN_LEDGERTEST_CHILD"

// Main must be the first call in an engine's TestMain. In a process that is to be killed, Main makes the change and
// does not return.
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

// die ends the process as SIGKILL does: no deferred call and no flush runs.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill() // the exit status shows whether Kill worked
	}
	select {}
}

// dieIn makes the n-th recorded change in a new process that dies at the step.
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

// CheckKilled makes each recorded change in processes that are killed, one at each step of the change. A process that
// dies before its commit must leave the ledger as it was. A process that dies after its commit must leave the change
// and its record. open opens the ledger at place with the options. CheckKilled closes the ledger before a process
// opens it.
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

// The statements that make a ledger refuse every audit record, as a full disk does, and the statements that undo this.
const (
	sqliteRefuses   = "CREATE TRIGGER audit_full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'disk full'); END"
	sqliteTakes     = "DROP TRIGGER audit_full"
	postgresRefuses = "CREATE OR REPLACE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'disk full'; END $$;" +
		"CREATE TRIGGER audit_full BEFORE INSERT ON audit FOR EACH STATEMENT EXECUTE FUNCTION full_disk()"
	postgresTakes = "DROP TRIGGER audit_full ON audit"
)

// RefuseRecords makes a ledger refuse every audit record, or accept records again, while nodes use the ledger. driver
// is the name of a driver of database/sql: pgx or sqlite. dsn is the data source name for the driver.
func RefuseRecords(t testing.TB, driver, dsn string, refuse bool) {
	t.Helper()
	statement := map[string]map[bool]string{
		"pgx":    {true: postgresRefuses, false: postgresTakes},
		"sqlite": {true: sqliteRefuses, false: sqliteTakes},
	}[driver][refuse]
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
