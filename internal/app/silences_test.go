package app_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

const waitForSilence = 30 * time.Second

// Two nodes share a silence: neither tells what it is about, and what waits for a push channel is not tried. When the other node ends it, what still
// fires is told once, and the channel gets everything in its order.
func TestSilenceOnTwoNodes(t *testing.T) {
	t.Parallel()
	s, gateway := newSite(t), receive(t)
	var well atomic.Bool
	gateway.answer = func(w http.ResponseWriter, _ *http.Request) {
		if !well.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	s.webhook("gateway", gateway.server.URL).Breaker.Failures = 1000
	s.realServers()
	wms := s.postgresWMS()
	s.rule("stock.yaml", pushRule("{sink: inbox}, {sink: gateway, strategy: important}"))
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	one, two := s.start("one"), s.start("two")
	one.await(nil, 1)
	var pending wire.DeliveriesForm
	testenv.Eventually(t, func() bool { // else its resolution would cancel it
		one.asks(http.MethodGet, "/deliveries?sink=gateway", "", &pending)
		return len(pending.Deliveries) == 1 && pending.Deliveries[0].Attempts > 0
	}, waitForSilence)

	var added wire.SilenceForm
	if code := one.asks(http.MethodPost, "/silences", `{"matchers":["rule=negative-bin-stock","warehouse=~1192.*","area!=inbound"],"for":"1h","comment":"stocktake"}`, &added); code != http.StatusCreated {
		t.Fatalf("%d %+v", code, added)
	}
	state := func(n *node) (form wire.SilenceForm) {
		n.asks(http.MethodGet, "/silences/"+added.ID, "", &form)
		return form
	}
	testenv.Eventually(t, func() bool { return state(two).Deliveries == 1 }, waitForSilence)
	one.ranAgain(3)
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'B-01', 'S1', -7)`)
	testenv.Eventually(t, func() bool { return state(two).Findings == 1 }, waitForSilence)
	one.ranAgain(3)
	if page := one.await(nil, 1); len(page.Notices) != 1 {
		t.Errorf("%+v", page.Notices)
	}
	if codes := heldCodes(two.why("119240,B-01,S1")); !slices.Contains(codes, "silenced") {
		t.Errorf("B-01 is held back by %q", codes)
	}
	if codes := heldCodes(one.why("119240,A-01,S1")); !slices.Contains(codes, "push_silenced") {
		t.Errorf("the delivery of A-01 is held back by %q", codes)
	}
	pending = wire.DeliveriesForm{}
	two.asks(http.MethodGet, "/deliveries?sink=gateway", "", &pending)
	if len(pending.Deliveries) != 1 || pending.Deliveries[0].HeldBy != added.ID || pending.Deliveries[0].State != "pending" {
		t.Errorf("%+v", pending.Deliveries)
	}
	tried := len(gateway.titles())
	wms.exec(`UPDATE bin_stock SET qty = 5 WHERE bin_code = 'A-01'`)
	one.await(nil, 2) // its resolution, which is made at once
	well.Store(true)
	if len(gateway.titles()) != tried {
		t.Errorf("the gateway was tried: %q", gateway.titles())
	}

	if code := two.asks(http.MethodPost, "/silences/"+added.ID+"/expire", "", &added); code != http.StatusOK || added.State != "expired" {
		t.Fatalf("%d %+v", code, added)
	}
	page := one.await(nil, 3)
	one.ranAgain(3)
	if titles := titlesOf(page); titles != "firing Bin A-01 is at -3; resolved Resolved: Bin A-01 is at -3; firing Bin B-01 is at -7" {
		t.Errorf("told %s", titles)
	}
	want := []string{"firing Bin A-01 is at -3", "resolved Resolved: Bin A-01 is at -3", "firing Bin B-01 is at -7"}
	testenv.Eventually(t, func() bool { return len(gateway.titles()) == tried+3 }, waitForSilence)
	got := slices.Sorted(slices.Values(gateway.titles()[tried:]))
	if first := gateway.titles()[tried:]; slices.Index(first, want[0]) > slices.Index(first, want[1]) || !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("the gateway got %q", first)
	}
}

// A restart changes nothing about what is silenced.
func TestSilenceSurvivesARestart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wms := s.sqliteWMS()
	s.rule("stock.yaml", stockRule)
	n := s.start("one")
	var added wire.SilenceForm
	n.asks(http.MethodPost, "/silences", `{"matchers":["warehouse=119240"],"for":"1h"}`, &added)
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	held := func(n *node) bool {
		var form wire.SilenceForm
		n.asks(http.MethodGet, "/silences/"+added.ID, "", &form)
		return form.State == "active" && form.Findings == 1
	}
	testenv.Eventually(t, func() bool { return held(n) }, waitForSilence)
	n.stop()
	n = s.start("two")
	n.ranAgain(3)
	if _, page := n.poll(nil); len(page.Notices) != 0 || !held(n) {
		t.Errorf("%+v", page.Notices)
	}
	n.asks(http.MethodPost, "/silences/"+added.ID+"/expire", "", &added)
	if titles := titlesOf(n.await(nil, 1)); titles != "firing Bin A-01 is at -3" {
		t.Errorf("told %s", titles)
	}
}

// asks makes a request below /api/v1 that is answered with 200 or 201.
func (n *node) asks(method, path, body string, answer any) int {
	n.t.Helper()
	code, text := n.do(method, "/api/v1"+path, "application/json", body)
	if code == http.StatusOK || code == http.StatusCreated {
		if err := json.Unmarshal([]byte(text), answer); err != nil {
			n.t.Fatalf("%v in %s", err, text)
		}
	}
	return code
}

func heldCodes(w wire.WhyForm) (codes []string) {
	for _, h := range w.Held {
		codes = append(codes, h.Code)
	}
	return codes
}

func titlesOf(page pageJSON) string {
	var list []string
	for _, n := range page.Notices {
		list = append(list, n.Status+" "+n.Title)
	}
	return strings.Join(list, "; ")
}
