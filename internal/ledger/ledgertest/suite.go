package ledgertest

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/named"
)

// Database is a fresh database of an engine.
type Database struct {
	// Open opens the ledger as one node, and closes it when the test ends.
	Open func(t testing.TB, opts ledger.Options) ledger.Ledger
	// Refuse makes the database refuse every audit record, or accept records again.
	Refuse func(t testing.TB, refuse bool)
	// OneNode says that only one ledger can be open at a time; the nodes of a test then share it.
	OneNode bool
}

// Run runs the suite. fresh makes an empty, migrated database for a test.
func Run(t *testing.T, fresh func(t testing.TB) Database) {
	t.Helper()
	RunEngine(t, fresh)
	runTests(t, fresh,
		recipientTests, clockTests, countTests, inboxTests, catalogueTests, readerTests, openTests, quietReadTests, pruneTests, retentionTests, retentionWorkTests, searchTests, bookTests, originTests, scopeTests, markTests, readAllTests,
		sendTests, raceTests, itemPushTests, itemMoveTests, itemEventTests, itemReadTests, itemPruneTests, pushTests, pushSettleTests, attemptTests, pushCommitTests, pushRecipientTests, pushOverTests,
		operatedTests, overviewTests, sampleTests, tokenTests, silenceTests, silencePushTests, auditTests, auditedTests, refusalTests, pushPruneTests, pushRaceTests, removalPushTests, lineageTests, surveyTests, sessionWorkTests,
	)
	t.Run("push channels behave as the model", func(t *testing.T) {
		t.Parallel()
		checkPushes(t, newFixture(t, fresh))
	})
	t.Run("items behave as the model", func(t *testing.T) {
		t.Parallel()
		checkItems(t, newFixture(t, fresh))
	})
}

// RunEngine runs the part of the suite that also holds for the ledger in memory of engine/enginetest: firings, runs
// without changes, removed rules, commits, rows of a look-back, rewinds, lanes, the history, shadows, switches and
// sessions.
func RunEngine(t *testing.T, fresh func(t testing.TB) Database) {
	t.Helper()
	runTests(t, fresh, firingTests, quietTests, removalTests, commitTests, lookBackTests, rewindTests, laneTests, historyTests, shadowTests, switchTests, sessionTests)
	t.Run("claims behave as the model", func(t *testing.T) {
		t.Parallel()
		checkClaims(t, newFixture(t, fresh))
	})
}

func runTests(t *testing.T, fresh func(t testing.TB) Database, groups ...[]testCase) {
	t.Helper()
	for _, group := range groups {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(t, newFixture(t, fresh))
			})
		}
	}
}

type testCase struct {
	name string
	run  func(t *testing.T, f *fixture)
}

// start is the first time of the tests' clock.
var start = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)

const lease = time.Minute

// fixture is a database that node a has opened, with a clock that only the test moves, and the checks of the tests.
type fixture struct {
	*base
	itemChecks
	pushChecks
	operationChecks
}

// The checks of groups of tests. Their methods are in the files of the tests.
type (
	itemChecks      struct{ *base }
	pushChecks      struct{ *base }
	operationChecks struct{ *base }
)

// base has the checks that all tests use.
type base struct {
	ledger.Ledger
	db    Database
	clock *clock
}

func newFixture(t testing.TB, fresh func(t testing.TB) Database) *fixture {
	t.Helper()
	b := &base{db: fresh(t), clock: newClock(start)}
	b.Ledger = b.db.Open(t, ledger.Options{Now: b.clock.Now})
	return b.fixture()
}

func (f *base) fixture() *fixture {
	return &fixture{f, itemChecks{f}, pushChecks{f}, operationChecks{f}}
}

// other opens the database as another node.
func (f *base) other(t testing.TB) ledger.Ledger {
	t.Helper()
	if f.db.OneNode {
		return f.Ledger
	}
	return f.db.Open(t, ledger.Options{Now: f.clock.Now})
}

// clock is a clock that moves only by Add.
type clock struct{ us atomic.Int64 }

func newClock(t time.Time) *clock {
	c := &clock{}
	c.us.Store(t.UnixMicro())
	return c
}

// Now returns the time.
func (c *clock) Now() time.Time { return time.UnixMicro(c.us.Load()).UTC() }

// Add moves the clock by d; a negative d sets the clock back.
func (c *clock) Add(d time.Duration) { c.us.Add(d.Microseconds()) }

// QueriesAreUsed fails for every query that no code names. QueriesAreUsed reads the code of the package under test,
// which is the working folder, and the code that both engines share.
func QueriesAreUsed(t *testing.T, queries named.Queries) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"../store/*.go", "../codec/*.go"} {
		shared, err := filepath.Glob(folder)
		if err != nil || len(shared) == 0 {
			t.Fatalf("the files of %s: %v, %v", folder, shared, err)
		}
		files = append(files, shared...)
	}
	var code strings.Builder
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	if len(queries) == 0 {
		t.Fatal("there are no queries")
	}
	for name := range queries {
		if !strings.Contains(code.String(), `"`+name+`"`) {
			t.Errorf("no code names the query %s", name)
		}
	}
}
