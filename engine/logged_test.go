package engine_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"
)

// The log lines of a run and of its deliveries have the same run id, and the lines of deliveries have the ids of the
// notices. So a reader who has one line finds the others.
func TestLogLinesNameRunAndNotice(t *testing.T) {
	inWorld(t, func(w *world) {
		var out bytes.Buffer
		w.set(stock("A-01", -3))
		o := w.options("a")
		o.Logger = slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		n := w.start(o)
		pass(6 * time.Minute)
		n.stop()
		told := w.inbox.Taken("119240")
		if len(told) != 1 {
			t.Fatalf("%d notices", len(told))
		}
		origin := told[0].Origin().String()
		lines := map[string]map[string]any{}
		for d := json.NewDecoder(&out); d.More(); {
			var l map[string]any
			if err := d.Decode(&l); err != nil {
				t.Fatal(err)
			}
			msg, _ := l["msg"].(string)
			lines[msg] = l
		}
		if got := lines["The run is done."]["run"]; got != origin {
			t.Errorf("the run is logged as %v, its notice came from %s", got, origin)
		}
		notices, _ := json.Marshal(lines["delivered"]["notices"])
		if want := `{"count":1,"ids":["` + told[0].ID + `"],"runs":["` + origin + `"]}`; string(notices) != want {
			t.Errorf("the delivery is logged as %s, want %s", notices, want)
		}
	})
}
