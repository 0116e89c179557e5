package engine_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
)

// logLines are the lines of an engine's log with a message.
func logLines(out *testenv.Output, message string) (list []string) {
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, `msg="`+message+`"`) {
			list = append(list, line)
		}
	}
	return list
}

// The start of a node with many rules has one line about those that are verified. One rule that is verified later has its own.
func TestVerifiedRulesAreOneLine(t *testing.T) {
	inWorld(t, func(w *world) {
		var out testenv.Output
		w.rules = nil
		const count = 200
		for i := range count {
			r := *negativeStock()
			r.ID = fmt.Sprintf("rule-%d", i)
			w.rules = append(w.rules, &r)
		}
		o := w.options("a")
		o.Logger = slog.New(slog.NewTextHandler(&out, nil))
		w.start(o)
		pass(10 * time.Second)
		if got := logLines(&out, "Rules were verified."); len(got) != 1 || !strings.Contains(got[0], fmt.Sprint("count=", count)) {
			t.Errorf("lines of many: %q", got)
		}
		if got := logLines(&out, "Rule was verified."); len(got) != 0 {
			t.Errorf("lines of one: %q", got)
		}
	})
}

// Of many rules whose source refuses them, few have lines of their own. When the source is well again, that is one line.
func TestUnverifiedRulesAreFewLines(t *testing.T) {
	inWorld(t, func(w *world) {
		var out testenv.Output
		w.rules = nil
		for i := range 100 {
			r := *negativeStock()
			r.ID = fmt.Sprintf("rule-%d", i)
			w.rules = append(w.rules, &r)
		}
		w.source.Break(errors.New("no table bins"))
		o := w.options("a")
		o.Logger = slog.New(slog.NewTextHandler(&out, nil))
		w.start(o)
		pass(4 * time.Second)
		if got := logLines(&out, "Rule is unverified: it does not run."); len(got) != 20 || !strings.Contains(got[0], "rule=rule-") || !strings.Contains(got[0], "no table bins") {
			t.Errorf("%d lines: %q", len(got), got)
		}
		pass(2 * time.Second)
		if got := logLines(&out, "Further rules are unverified: they do not run."); len(got) != 1 || !strings.Contains(got[0], "count=80") {
			t.Errorf("lines of the others: %q", got)
		}
		w.source.Break(nil)
		pass(2 * m)
		verified := logLines(&out, "Rules were verified.")
		if one := logLines(&out, "Rule was verified."); len(verified) == 0 || len(verified)+len(one) > 20 {
			t.Errorf("verified: %d lines of many, %d of one", len(verified), len(one))
		}
	})
}

// A rule that is verified alone has its line with rule and scope, and so it has when a stop comes first.
func TestOneVerifiedRuleHasItsLine(t *testing.T) {
	inWorld(t, func(w *world) {
		var out testenv.Output
		o := w.options("a")
		o.Logger = slog.New(slog.NewTextHandler(&out, nil))
		n := w.start(o)
		pass(time.Second)
		n.stop()
		if got := logLines(&out, "Rule was verified."); len(got) != 1 || !strings.Contains(got[0], "rule=negative-bin-stock scope=119240") {
			t.Errorf("lines: %q in %s", got, out.String())
		}
	})
}
