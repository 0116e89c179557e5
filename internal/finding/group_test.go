package finding_test

import (
	"fmt"
	"testing"
	"time"

	"tallyman/internal/finding"
)

func TestGroups(t *testing.T) {
	const m = time.Minute
	cases := []struct {
		name   string
		policy finding.Policy
		runs   []at
	}{
		{"one notice a group, which resolves with its last member", finding.Policy{Shortest: 5 * m}, []at{
			{minute: 0, seen: "aXbXcY", want: "fire X1x2,fire Y1x1", counts: "0/3"},
			{minute: 5, seen: "aXbXcY", counts: "0/3"},
			{minute: 10, seen: "bX", want: "resolve Y1", counts: "0/1"},
			{minute: 15, want: "resolve X1", counts: "0/0"},
			{minute: 20, seen: "aX", want: "fire X1x1", counts: "0/1"},
		}},
		{"who joins is told, who leaves is not", finding.Policy{For: 5 * m, Shortest: 5 * m}, []at{
			{minute: 0, seen: "aX", counts: "1/0"},
			{minute: 5, seen: "aXbX", want: "fire X1x1", counts: "1/1"},
			{minute: 10, seen: "aXbX", want: "join X2x2", counts: "0/2"},
			{minute: 15, seen: "bX", counts: "0/1"},
			{minute: 20, want: "resolve X2", counts: "0/0"},
		}},
		{"another member in the place of the last: the same episode", finding.Policy{Shortest: 5 * m}, []at{
			{minute: 0, seen: "aX", want: "fire X1x1", counts: "0/1"},
			{minute: 5, seen: "bX", want: "join X2x1", counts: "0/1"},
			{minute: 10, want: "resolve X2", counts: "0/0"},
		}},
		{"a rise of the highest priority is told", finding.Policy{Shortest: 5 * m}, []at{
			{minute: 0, seen: "a2Xb3X", want: "fire X1x2", counts: "0/2"},
			{minute: 5, seen: "a3Xb2X", counts: "0/2"},
			{minute: 10, seen: "a4Xb3X", want: "rise X2x2", counts: "0/2"},
			{minute: 15, seen: "a4Xb4X", counts: "0/2"},
		}},
		{"a row that changes its group leaves one and joins the other", finding.Policy{Shortest: 5 * m}, []at{
			{minute: 0, seen: "aXbXcY", want: "fire X1x2,fire Y1x1", counts: "0/3"},
			{minute: 5, seen: "aYbXcY", want: "join Y2x2", counts: "0/3"},
			{minute: 10, seen: "aYbYcY", want: "join Y3x3,resolve X1", counts: "0/3"},
			{minute: 15, seen: "aZbZcZ", want: "fire Z1x3,resolve Y3", counts: "0/3"},
		}},
		{"the last member leaves while another one comes", finding.Policy{Shortest: 5 * m}, []at{
			{minute: 0, seen: "aX", want: "fire X1x1", counts: "0/1"},
			{minute: 5, seen: "aYbX", want: "join X2x1,fire Y1x1", counts: "0/2"},
			{minute: 10, seen: "aY", want: "resolve X2", counts: "0/1"},
		}},
		{"reminders of a group, absent members included", finding.Policy{KeepFiringFor: 10 * m, RepeatInterval: 10 * m, Shortest: 5 * m}, []at{
			{minute: 0, seen: "aXbX", want: "fire X1x2", counts: "0/2"},
			{minute: 10, seen: "aX", want: "remind X2x2", counts: "0/2"},
			{minute: 20, counts: "0/2"},
			{minute: 25, seen: "bX", want: "remind X3x2", counts: "0/2"},
			{minute: 90, counts: "0/1"},
			{minute: 95, counts: "0/1"},
			{minute: 100, want: "resolve X3", counts: "0/0"},
		}},
		{"an errored row keeps its member in the group", finding.Policy{RepeatInterval: 10 * m, Shortest: 5 * m}, []at{
			{minute: 0, seen: "aXbX", want: "fire X1x2", counts: "0/2"},
			{minute: 5, seen: "a!", counts: "0/1"},
			{minute: 10, seen: "a!cX", want: "join X2x2", counts: "0/2"},
			{minute: 15, seen: "cX", counts: "0/1"},
			{minute: 20, want: "resolve X2", counts: "0/0"},
		}},
		{"no data and failed runs leave groups alone", finding.Policy{KeepLast: true, Shortest: 5 * m}, []at{
			{minute: 0, seen: "aXbX", want: "fire X1x2", counts: "0/2"},
			{minute: 5, noData: true, counts: "0/2"},
			{minute: 10, failed: true, counts: "0/2"},
			{minute: 15, seen: "aX", counts: "0/1"},
		}},
		{"a rule that begins to group takes back what it told one by one", finding.Policy{Shortest: 5 * m}, []at{
			{minute: 0, seen: "ab", want: "fire a1,fire b1", counts: "0/2"},
			{minute: 5, seen: "aXbX", want: "fire X1x2,resolve a1,resolve b1", counts: "0/2"},
			{minute: 10, seen: "ab", counts: "0/2"},
			{minute: 15, seen: "a4b", want: "rise a2", counts: "0/2"},
			{minute: 20, seen: "a4", want: "resolve X1", counts: "0/1"},
			{minute: 25, want: "resolve a2", counts: "0/0"},
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(c.policy)
			for _, r := range c.runs {
				res, got := w.run(start.Add(time.Duration(r.minute)*time.Minute), parseSeen(r.seen), r.failed, r.noData)
				if got != r.want {
					t.Errorf("minute %d: told %q, want %q", r.minute, got, r.want)
				}
				if got := fmt.Sprintf("%d/%d", res.Pending, res.Firing); got != r.counts {
					t.Errorf("minute %d: pending/firing %s, want %s", r.minute, got, r.counts)
				}
			}
		})
	}
}

// Groups that go on unchanged cost no write.
func TestOngoingGroupsCostNoWrite(t *testing.T) {
	w := newWorld(finding.Policy{RepeatInterval: time.Hour, Shortest: 5 * time.Minute})
	w.run(start, parseSeen("aXbXcY"), false, false)
	for i := 1; i < 12; i++ {
		if res, _ := w.run(start.Add(time.Duration(i)*5*time.Minute), parseSeen("cYbXaX"), false, false); len(res.Changes) != 0 {
			t.Fatalf("run %d changed %v", i, res.Changes)
		}
	}
	if res, told := w.run(start.Add(time.Hour), parseSeen("aX"), false, false); told != "remind X2x1,resolve Y1" || len(res.Changes) != 3 {
		t.Fatalf("%q, %v", told, res.Changes)
	}
}

func TestAlerts(t *testing.T) {
	const m = time.Minute
	p := finding.Policy{For: 5 * m, KeepFiringFor: 10 * m, RepeatInterval: 20 * m, Shortest: 5 * m}
	w := newWorld(p)
	for i, c := range []struct {
		wrong bool
		told  string
		count string
	}{
		{false, "", "0/0"},
		{true, "", "1/0"},
		{false, "", "0/0"},
		{true, "", "1/0"},
		{true, `fire "on_error"1`, "0/1"},
		{true, "", "0/1"},
		{false, "", "0/1"},
		{true, "", "0/1"},
		{true, `remind "on_error"2`, "0/1"},
		{false, "", "0/1"},
		{false, "", "0/1"},
		{false, `resolve "on_error"2`, "0/0"},
		{false, "", "0/0"},
	} {
		due := start.Add(time.Duration(i) * 5 * m)
		last := w.scope.LastDue
		rows, alerts := finding.Split(w.list())
		res := finding.Step(w.scope, rows, nil, false, p, due)
		st := finding.State{Key: finding.OnError}
		if len(alerts) > 0 {
			st = alerts[0]
		}
		res.Alert(st, c.wrong, 4, p, "", last, due)
		if got := tells(&res); got != c.told {
			t.Errorf("run %d: told %q, want %q", i, got, c.told)
		}
		if got := fmt.Sprintf("%d/%d", res.Pending, res.Firing); got != c.count || len(rows) != 0 {
			t.Errorf("run %d: pending/firing %s, want %s; %d rows", i, got, c.count, len(rows))
		}
		w.apply(res)
	}
}

func TestSplit(t *testing.T) {
	st := func(key string) finding.State { return finding.State{Key: key} }
	all := []finding.State{st(`["a"]`), st(finding.NoData), st(`["no_data"]`), st(finding.OnError)}
	rows, alerts := finding.Split(all)
	if fmt.Sprint(rows) != fmt.Sprint([]finding.State{all[0], all[2]}) || fmt.Sprint(alerts) != fmt.Sprint([]finding.State{all[1], all[3]}) {
		t.Errorf("%v, %v", rows, alerts)
	}
	if rows, alerts = finding.Split(all[:1]); len(rows) != 1 || alerts != nil {
		t.Errorf("%v, %v", rows, alerts)
	}
}

// A group by the columns of the key has the same key as its finding. When the rule stops grouping, the finding goes
// on with the episode, which is resolved once.
func TestGroupOfTheKeyItself(t *testing.T) {
	w := newWorld(finding.Policy{Shortest: 5 * time.Minute})
	for i, c := range []struct {
		seen []finding.SeenRow
		want string
	}{
		{[]finding.SeenRow{{Key: "k", Group: "k", Priority: 3}}, "fire k1x1"},
		{[]finding.SeenRow{{Key: "k", Priority: 4}}, "rise k2"},
		{nil, "resolve k2"},
	} {
		if _, got := w.run(start.Add(time.Duration(i)*5*time.Minute), c.seen, false, false); got != c.want {
			t.Errorf("run %d told %q, want %q", i, got, c.want)
		}
	}
}
