package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tallyman/engine"
)

// A caller of Room has a place at the source. A run waits for the place, instead of failing without a free connection.
func TestRoomBesideTheRules(t *testing.T) {
	inWorld(t, func(w *world) {
		o := w.options("a")
		o.PerSource = map[string]int{"wms": 1}
		n := w.start(o)
		pass(4 * m)
		release, err := n.Room(w.t.Context(), "wms")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Room(w.t.Context(), "wms"); !errors.Is(err, engine.ErrSourceBusy) {
			t.Errorf("two in one place: %v", err)
		}
		pass(2 * m)
		w.wantDues()
		release()
		pass(time.Second)
		w.wantDues("5 ok")
		if _, err := n.Room(w.t.Context(), "erp"); err == nil {
			t.Error("room on a source that there is not")
		}
		if release, err = n.Room(w.t.Context(), "wms"); err != nil {
			t.Fatal(err)
		}
		defer release()
		gone, cancel := context.WithCancel(w.t.Context())
		cancel()
		if _, err := n.Room(gone, "wms"); !errors.Is(err, context.Canceled) {
			t.Errorf("nobody waits any more: %v", err)
		}
	})
}

// A caller that is gone while it waits for a place to verify a rule gets its own end as the error.
func TestVerifiedSaysWhyItGaveUp(t *testing.T) {
	inWorld(t, func(w *world) {
		o := w.options("a")
		o.PerSource = map[string]int{"wms": 1}
		n := w.start(o)
		pass(4 * m)
		release, err := n.Room(w.t.Context(), "wms")
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		if _, err := n.Verified(w.t.Context(), w.rules[0]); !errors.Is(err, engine.ErrSourceBusy) {
			t.Errorf("no place: %v", err)
		}
		gone, cancel := context.WithTimeout(w.t.Context(), time.Second)
		defer cancel()
		if _, err := n.Verified(gone, w.rules[0]); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("nobody waits any more: %v", err)
		}
	})
}
