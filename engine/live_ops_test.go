package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"tallyman/engine"
	"tallyman/internal/ledger"
)

// do does what the operation says, to the cluster and to the model. It returns what went otherwise than it should.
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

// turnLive throws a switch on a node; the others hear of it at once.
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
	id := ledger.Known(l.rule, l.scope)
	scope := &l.scope
	if op.whole {
		id, scope = ledger.Known(l.rule, ledger.Every), nil
	}
	var err error
	if verb == "pause" || verb == "resume" {
		id = ledger.Known(ledger.Every, ledger.Every)
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
