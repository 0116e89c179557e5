package engine_test

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/engine"
	"tallyman/engine/enginetest"
	"tallyman/engine/why"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/internal/session"
	"tallyman/internal/testenv"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// Under the race detector the tests have one processor: all timers of a bubble share one context of the detector, and
// where two goroutines look at timers that are due at the same moment, it is used twice at once and the process dies
// (Go 1.26, unlockAndRun in runtime/time.go). TestChaos died so in one run of five.
func TestMain(m *testing.M) {
	if testenv.Race {
		runtime.GOMAXPROCS(1)
	}
	testenv.Main(m)
}

var repNotice = catalog.Type{
	Code: "REP_NOTICE", ID: 124719, Name: "Replenishment notice", Retention: 72 * time.Hour,
	Fields: map[string]catalog.Field{"bin": {Type: catalog.String, Required: true}, "qty": {Type: catalog.Decimal}},
}

var stockColumns = []row.Column{
	{Name: "bin_code", Kind: row.Text}, {Name: "qty", Kind: row.Int, Nullable: true},
}

// stock is one row of the probe.
func stock(bin string, qty int64) []row.Value { return []row.Value{row.TextOf(bin), row.IntOf(qty)} }

// negativeStock is the rule of most tests: every five minutes, one finding for each negative bin.
func negativeStock() *rules.Rule {
	return &rules.Rule{
		ID: "negative-bin-stock", Scope: "119240", Enabled: true, Mode: rules.ModeState, Source: "wms",
		Labels:   map[string]string{"area": "replenishment"},
		Schedule: rules.Schedule{Cron: "*/5 * * * *", Overlap: rules.OverlapSkip, CatchUp: rules.CatchUpOnce},
		Probe:    rules.Probe{SQL: "SELECT bin_code, qty FROM bin_stock", Timeout: 5 * time.Second, MaxRows: 10000},
		When:     "qty < 0", Key: []string{"bin_code"}, NoData: rules.PolicyOK, OnError: rules.PolicyKeepLast,
		Notice: rules.Notice{
			Type: "REP_NOTICE", Priority: "qty < -100 ? 5 : 3", Modal: rules.ModalPopup, SendResolved: true, Expires: time.Hour,
			Title:  map[string]string{"": "Bin {{ .bin_code }} is at {{ .qty }}", "zh": "货位 {{ .bin_code }} 库存 {{ .qty }}"},
			Body:   map[string]string{"": "Replenish {{ .bin_code }}."},
			Fields: map[string]string{"bin": "bin_code", "qty": "qty"},
		},
		Deliver: []deliver.Entry{{Sink: "inbox"}},
	}
}

// world is a cluster in a synctest bubble: a ledger, a source, sinks, and the nodes that were started.
type world struct {
	t      *testing.T
	ledger *enginetest.Ledger
	source *enginetest.Source
	inbox  *enginetest.Sink
	rules  []*rules.Rule

	mu         sync.Mutex
	rows       [][]row.Value
	warehouses []string // each of which has the rows; nil = the rows name no warehouse
}

// inWorld runs a test in a bubble whose clock shows midnight in UTC, 2000-01-01.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newWorld(t)) })
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, ledger: enginetest.NewLedger(repNotice), inbox: &enginetest.Sink{},
		source: &enginetest.Source{Columns: stockColumns}, rules: []*rules.Rule{negativeStock()},
	}
	w.source.Rows = func(context.Context, scanners.Request) ([][]row.Value, error) { return w.current(), nil }
	return w
}

func (w *world) current() [][]row.Value {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.warehouses == nil {
		return w.rows
	}
	var all [][]row.Value
	for _, warehouse := range w.warehouses {
		for _, values := range w.rows {
			all = append(all, append(slices.Clone(values), row.TextOf(warehouse)))
		}
	}
	return all
}

func (w *world) set(rows ...[]row.Value) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows = rows
}

func (w *world) options(node string) engine.Options {
	return engine.Options{
		Ledger: w.ledger, Node: node, Session: w.session(node), Rules: w.rules, Logger: slog.New(slog.DiscardHandler),
		Sources: map[string]scanners.Source{"wms": w.source},
		Sinks:   map[string]engine.Sink{"inbox": {Sink: w.inbox, Inbox: true}},
	}
}

// worldLease is the lease of a session. It is that of firings and lanes, so that tests of both tell the same time.
const worldLease = 30 * time.Second

// session is one that the node has yet to take.
func (w *world) session(node string) *session.Keeper {
	return session.New(session.Options{Ledger: w.ledger, Node: node, Lease: worldLease})
}

// node is a running engine.
type node struct {
	*engine.Engine
	*why.Explainer
	stop func() // and wait
}

func (w *world) start(o engine.Options) node {
	w.t.Helper()
	e, err := engine.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	n := w.run(e, o)
	n.Explainer = why.New(e, w.ledger, o.Silencer)
	return n
}

func (w *world) run(e *engine.Engine, o engine.Options) node {
	w.t.Helper()
	keeper, isKept := o.Session.(*session.Keeper)
	ctx, cancel := context.WithCancel(w.t.Context())
	keeping, leave := context.WithCancel(w.t.Context())
	if isKept {
		_ = keeper.Begin(keeping) // Run tries again
	}
	done := make(chan error, 1)
	left := make(chan struct{})
	go func() {
		defer close(left)
		if isKept {
			keeper.Run(keeping, e.TakeOver)
		}
	}()
	go func() { done <- e.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("Run: %v", err)
		}
		leave()
		<-left
	})
	w.t.Cleanup(stop)
	return node{e, why.New(e, w.ledger, nil), stop}
}

// pass lets the bubble's time pass, and everything that it starts come to rest.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the bubble's clock
	synctest.Wait()
}

// outcomes are the outcomes of the runs, in the order of their commit.
func (w *world) outcomes() (list []ledger.Outcome) {
	for _, run := range w.ledger.Runs() {
		list = append(list, run.Outcome)
	}
	return list
}

// told are the notices of the warehouse's inbox as "status title".
func (w *world) told() (list []string) {
	for _, n := range w.inbox.Taken("119240") {
		list = append(list, string(n.Status)+" "+n.Title)
	}
	return list
}

func (w *world) notices() []*notice.Notice { return w.inbox.Taken("119240") }
