package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tallyman/engine"
	"tallyman/engine/enginetest"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// liveOp is an action of an operator, or an event.
type liveOp struct {
	kind  string
	node  int
	line  int
	whole bool // of a switch: the whole rule
	span  int  // minutes
}

var liveOps = rapid.Custom(func(t *rapid.T) liveOp {
	return liveOp{
		kind: rapid.SampledFrom([]string{
			"pass", "pass", "pass", "disable", "disable for", "enable", "enable for", "clear", "pause", "pause for", "resume", "run", "run twice",
			"edit", "disable in file", "remove", "read", "read", "read all", "stop or start", "stock",
		}).Draw(t, "kind"),
		node:  rapid.IntRange(0, 1).Draw(t, "node"),
		line:  rapid.IntRange(0, 2).Draw(t, "line"),
		whole: rapid.Bool().Draw(t, "whole"),
		span:  rapid.IntRange(1, 4).Draw(t, "span"),
	}
})

// TestLiveRules switches, edits and reloads rules, starts and stops nodes, and orders firings, in any order and in the
// middle of runs. The runs, the skipped firings and the notices are those of the model. So no run begins while a switch
// or the file disables its rule. Switches outlive reloads and restarts. Each firing runs once in the cluster. State
// belongs to the id of the rule: no notice is sent twice, and none is lost.
func TestLiveRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		m := &liveModel{switches: map[string]ledger.Switch{}, lines: []*liveLine{
			{rule: "stock", scope: "A", every: time.Minute},
			{rule: "stock", scope: "B", every: time.Minute},
			{rule: "recount", scope: "C", every: 5 * time.Minute},
		}}
		m.disk = map[string]liveFile{"stock": {true, true, 1}, "recount": {true, rapid.Bool().Draw(r, "enabled"), 1}}
		m.catchUp = rapid.SampledFrom([]rules.CatchUp{rules.CatchUpNone, rules.CatchUpOnce, rules.CatchUpAll}).Draw(r, "catch up")
		if m.catchUp != rules.CatchUpAll && rapid.Bool().Draw(r, "slow") {
			m.slow = 20 * time.Second // what begins at :00 is in the middle at :10, when operators act
		}
		ops := rapid.SliceOfN(liveOps, 10, 30).Draw(r, "ops")
		var fault string
		synctest.Test(t, func(t *testing.T) { fault = playLive(t, m, ops) })
		if fault != "" {
			r.Fatal(fault)
		}
	})
}

// liveGame is a cluster and its model.
type liveGame struct {
	*world
	m     *liveModel
	nodes [2]node

	mu    sync.Mutex
	stock map[string]bool // by scope
}

func playLive(t *testing.T, m *liveModel, ops []liveOp) string {
	t.Helper()
	g := &liveGame{world: newWorld(t), m: m, stock: map[string]bool{}}
	m.nodes = []*liveNode{{units: map[*liveLine]int{}}, {units: map[*liveLine]int{}}}
	defer func() {
		for i := range g.nodes {
			if m.nodes[i].on {
				g.nodes[i].stop()
			}
		}
	}()
	pass(10 * time.Second)
	m.now = time.Now()
	for i, op := range slices.Concat([]liveOp{{kind: "stop or start"}, {kind: "stop or start", node: 1}}, ops) {
		fault := g.do(op)
		synctest.Wait()
		if wait := time.Since(m.now); wait > 0 || m.slow > 0 { // it took a while: go on at ten seconds past
			pass(time.Until(time.Now().Add(-10 * time.Second).Truncate(time.Minute).Add(70 * time.Second)))
			m.pass(time.Now())
		}
		if fault == "" {
			fault = g.differs()
		}
		if fault != "" {
			return fmt.Sprintf("after %d operations, the last %+v, at %s: %s", i+1, op, m.now.Format(time.TimeOnly), fault)
		}
	}
	return ""
}

// rulesOf returns the files as a node reads them.
func (g *liveGame) rulesOf(files map[string]liveFile) (list []*rules.Rule) {
	for _, l := range g.m.lines {
		f := files[l.rule]
		if !f.there {
			continue
		}
		r := negativeStock()
		r.ID, r.Scope, r.Source, r.Enabled = l.rule, l.scope, l.scope, f.enabled
		r.Checksum = fmt.Sprint(l.rule, l.scope, f)
		r.Schedule.Cron, r.Schedule.CatchUp = fmt.Sprintf("*/%d * * * *", int(l.every.Minutes())), g.m.catchUp
		r.Notice.Title = map[string]string{"": fmt.Sprintf("Version %d", f.version)}
		r.Probe.Timeout = time.Hour
		list = append(list, r)
	}
	return list
}

// start starts a node, which knows the switches before it runs.
func (g *liveGame) start(i int) error {
	n := g.m.nodes[i]
	g.m.read(n)
	o := g.options(fmt.Sprintf("node-%d", i))
	o.Rules, o.Complete, o.StopGrace = g.rulesOf(n.files), true, 30*time.Second
	o.Sources = map[string]scanners.Source{}
	for _, l := range g.m.lines {
		o.Sources[l.scope] = &enginetest.Source{Columns: stockColumns, Rows: g.rowsOf(l.scope)}
	}
	e, err := engine.New(o)
	if err == nil {
		err = e.ReadSwitches(g.t.Context())
	}
	if err != nil {
		return err
	}
	g.nodes[i] = g.run(e, o)
	n.on = true
	g.m.settle(n, time.Time{})
	return nil
}

// rowsOf returns a source's rows for a scope, as they were when the source was asked.
func (g *liveGame) rowsOf(scope string) func(context.Context, scanners.Request) ([][]row.Value, error) {
	return func(context.Context, scanners.Request) ([][]row.Value, error) {
		g.mu.Lock()
		there := g.stock[scope]
		g.mu.Unlock()
		time.Sleep(g.m.slow) //nolint:forbidigo // the bubble's clock
		if there {
			return [][]row.Value{stock("A-01", -3)}, nil
		}
		return nil, nil
	}
}

// runNow asks one node, or both at once, for a run of a line.
func (g *liveGame) runNow(nodes []int, l *liveLine) string {
	busy := l.busy.After(g.m.now)
	dues := make([]time.Time, len(nodes))
	errs := make([]error, len(nodes))
	var asking sync.WaitGroup
	for i, n := range nodes {
		asking.Go(func() {
			o, err := g.nodes[n].RunNow(g.t.Context(), l.rule, &l.scope, ordered)
			if errs[i] = err; err == nil {
				dues[i] = o.Due
			}
		})
	}
	asking.Wait()
	ran := map[time.Time]bool{}
	for i, n := range nodes {
		var unknown *engine.UnknownError
		known := g.m.nodes[n].files[l.rule].there
		switch {
		case !known && errors.As(errs[i], &unknown):
		case known && errors.Is(errs[i], engine.ErrRunning) && (busy || len(nodes) > 1):
		case known && errs[i] == nil && !busy && !ran[dues[i]]:
			ran[dues[i]] = true
			g.m.order(g.m.nodes[n], l)
		default:
			return fmt.Sprintf("node %d answers %v, %v; busy: %v", n, dues[i], errs[i], busy)
		}
	}
	if len(nodes) > 1 && len(ran) == 0 && !busy && g.m.nodes[0].files[l.rule].there {
		return fmt.Sprintf("nobody ran it: %v", errs)
	}
	return ""
}

// differs returns how the cluster differs from the model.
func (g *liveGame) differs() string {
	for _, l := range g.m.lines {
		var ran []time.Time
		var left, told []string
		for _, run := range g.ledger.Runs() {
			switch {
			case run.Rule != l.rule || run.Scope != l.scope:
			case run.Outcome == ledger.OutcomeSkipped:
				left = append(left, run.Due.Format(time.TimeOnly)+" "+run.Error)
			default:
				ran = append(ran, run.Due)
			}
		}
		ids := map[string]bool{}
		for _, n := range g.inbox.Taken(l.scope) {
			told = append(told, string(n.Status))
			if ids[n.ID] {
				return "told twice: " + n.ID
			}
			ids[n.ID] = true
		}
		want := l.ran
		if l.busy.After(g.m.now) { // it has begun, and nobody can see that yet
			want = want[:len(want)-1]
		}
		if !slices.EqualFunc(ran, want, time.Time.Equal) || strings.Join(left, "\n") != strings.Join(l.left, "\n") {
			return fmt.Sprintf("%s in %s ran\n%v\nwant\n%v\nleft out\n%s\nwant\n%s", l.rule, l.scope, ran, want, strings.Join(left, "\n"), strings.Join(l.left, "\n"))
		}
		if !l.busy.After(g.m.now) && !slices.Equal(told, l.told) {
			return fmt.Sprintf("%s in %s told %v, want %v", l.rule, l.scope, told, l.told)
		}
	}
	return g.statusDiffers()
}

func (g *liveGame) statusDiffers() string {
	for i, n := range g.m.nodes {
		if !n.on {
			continue
		}
		list, err := g.nodes[i].Status(g.t.Context())
		if err != nil {
			return err.Error()
		}
		for _, l := range g.m.lines {
			at := slices.IndexFunc(list, func(s engine.RuleStatus) bool { return s.Rule.ID == l.rule && s.Rule.Scope == l.scope })
			if got, want := at >= 0, n.files[l.rule].there; got != want || at >= 0 && list[at].Enabled != g.m.enabled(n, l) {
				return fmt.Sprintf("on node %d %s in %s is known: %v, enabled: %v", i, l.rule, l.scope, got, at >= 0 && list[at].Enabled)
			}
		}
	}
	return ""
}

// do carries out the operation in the cluster and in the model. It returns what went wrong.
func (g *liveGame) do(op liveOp) string {
	m, l, n := g.m, g.m.lines[op.line], g.m.nodes[op.node]
	file := m.disk[l.rule]
	switch op.kind {
	case "pass":
		pass(time.Duration(op.span) * time.Minute)
		m.pass(time.Now())
	case "stop or start":
		if !n.on {
			if err := g.start(op.node); err != nil {
				return err.Error()
			}
			break
		}
		g.nodes[op.node].stop()
		n.on = false
		clear(n.units)
	case "stock":
		g.mu.Lock()
		l.there = !l.there
		g.stock[l.scope] = l.there
		g.mu.Unlock()
	case "edit":
		file.version++
	case "disable in file":
		file.enabled, file.version = !file.enabled, file.version+1
	case "remove":
		file.there = !file.there
	case "read":
		return g.read(op.node)
	case "read all":
		for i := range g.nodes {
			if fault := g.read(i); fault != "" {
				return fault
			}
		}
	case "run", "run twice":
		var asked []int
		for i, other := range m.nodes {
			if other.on && (i == op.node || op.kind == "run twice") {
				asked = append(asked, i)
			}
		}
		if len(asked) > 0 {
			return g.runNow(asked, l)
		}
	default:
		return g.turnLive(op)
	}
	m.disk[l.rule] = file
	return ""
}

// read makes a node read the files.
func (g *liveGame) read(i int) string {
	n := g.m.nodes[i]
	if !n.on {
		return ""
	}
	before := maps.Clone(n.files)
	g.m.read(n)
	if err := g.nodes[i].Replace(g.rulesOf(n.files), true); err != nil {
		return fmt.Sprintf("%v does not follow %v: %v", n.files, before, err)
	}
	g.m.settle(n, g.m.now)
	return ""
}

// turnLive sets a switch on a node. The other nodes read it at once.
func (g *liveGame) turnLive(op liveOp) string {
	m, l, n := g.m, g.m.lines[op.line], g.m.nodes[op.node]
	if !n.on {
		return ""
	}
	verb, lasts := strings.CutSuffix(op.kind, " for")
	s := ledger.Switch{By: "user:ann", State: map[string]ledger.SwitchState{
		"disable": ledger.SwitchOff, "enable": ledger.SwitchOn, "clear": ledger.SwitchCleared, "pause": ledger.SwitchOff, "resume": ledger.SwitchCleared,
	}[verb]}
	if lasts {
		s.Until = m.now.Add(time.Duration(op.span)*time.Minute + 30*time.Second)
	}
	id := ledger.ScopeKey(l.rule, l.scope)
	scope := &l.scope
	if op.whole {
		id, scope = ledger.ScopeKey(l.rule, ledger.Every), nil
	}
	var err error
	if verb == "pause" || verb == "resume" {
		id = ledger.ScopeKey(ledger.Every, ledger.Every)
		err = g.nodes[op.node].Pause(g.t.Context(), ann, s)
	} else {
		_, err = g.nodes[op.node].Turn(g.t.Context(), ann, l.rule, scope, s)
		old, was := m.switches[id]
		stray := verb == "clear" && was && old.State != ledger.SwitchCleared && !over(old, m.now)
		if !n.files[l.rule].there && !stray {
			if _, unknown := errors.AsType[*engine.UnknownError](err); !unknown {
				return fmt.Sprintf("a rule that is not there was switched: %v", err)
			}
			return ""
		}
	}
	if err != nil {
		return err.Error()
	}
	s.At = m.now
	m.switches[id] = s
	for i, other := range m.nodes {
		if !other.on {
			continue
		}
		if err := g.nodes[i].ReadSwitches(g.t.Context()); err != nil {
			return err.Error()
		}
		m.settle(other, time.Time{})
	}
	return ""
}
