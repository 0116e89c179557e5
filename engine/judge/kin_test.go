package judge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/row"
	"tallyman/scanners"
)

var kinColumns = []row.Column{{Name: "bin", Kind: row.Text}, {Name: "qty", Kind: row.Int}}

type fixedProbe struct{ scanners.PreparedProbe }

func (*fixedProbe) Columns() []row.Column { return kinColumns }

var kinTypes = catalog.Catalog{"REP_NOTICE": {Code: "REP_NOTICE", ID: 1, Retention: time.Hour, Fields: map[string]catalog.Field{"bin": {Type: catalog.String}}}}

// kinRule is a rule in one of the scopes that a query lists.
func kinRule(scope string) *rules.Rule {
	return &rules.Rule{
		ID: "low-stock", Scope: scope, Kin: "low-stock UTC", Mode: rules.ModeState, When: "qty < 0", Key: []string{"bin"},
		Schedule: rules.Schedule{Cron: "*/5 * * * *", Timezone: "UTC"}, Probe: rules.Probe{SQL: "SELECT bin, qty FROM bin_stock WHERE wh = :wh", Params: map[string]any{"wh": scope}},
		Notice:  rules.Notice{Type: "REP_NOTICE", Title: map[string]string{"": "Bin {{ .bin }} is at {{ .qty }}"}, Fields: map[string]string{"bin": "bin"}},
		Deliver: []deliver.Entry{{Sink: "inbox"}},
	}
}

// TestKinAreCompiledOnceAndJudgeApart: many scopes judge rows at the same time, each with its own name.
func TestKinAreCompiledOnceAndJudgeApart(t *testing.T) {
	t.Parallel()
	kin := NewKin()
	var prepared atomic.Int64
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			scope := fmt.Sprintf("W%d", i)
			s, err := NewScopedRule(kinRule(scope), nil, kin)
			if err != nil {
				t.Error(err)
				return
			}
			ask := func(context.Context) (scanners.PreparedProbe, error) { prepared.Add(1); return &fixedProbe{}, nil }
			if err := s.Prepare(t.Context(), ask); err != nil {
				t.Error(err)
				return
			}
			if err := s.Compile(kinTypes, 1); err != nil {
				t.Error(err)
				return
			}
			for n := range 20 {
				s.BorrowProgram()
				bin := fmt.Sprintf("%s-%d", scope, n)
				r := &row.Row{Columns: kinColumns, Values: []row.Value{row.TextOf(bin), row.IntOf(int64(-n - 1))}}
				s.Program.SetNow(time.Unix(int64(n), 0))
				draft, err := s.Program.Draft(r)
				if err != nil || draft.Warehouse != scope || draft.Texts[""].Title != fmt.Sprintf("Bin %s is at %d", bin, -n-1) {
					t.Errorf("%s: %+v, %v", bin, draft, err)
				}
				if borrowed := s.Program.Rule(); borrowed.Scope != scope || borrowed.Probe.Params["wh"] != scope {
					t.Errorf("%s has the program of %s", scope, borrowed.Scope)
				}
				s.ReturnProgram()
			}
			if s.Rule.Scope != scope || s.Rule.Probe.Params["wh"] != scope {
				t.Errorf("%s has the rule of %s", scope, s.Rule.Scope)
			}
		})
	}
	all.Wait()
	if n := prepared.Load(); n != 1 {
		t.Errorf("the probe was prepared %d times", n)
	}
}

func TestAProbeThatTheSourceRefusedIsPreparedAnewOnce(t *testing.T) {
	t.Parallel()
	kin := NewKin()
	asked := 0
	ask := func(context.Context) (scanners.PreparedProbe, error) { asked++; return &fixedProbe{}, nil }
	var scopes []*ScopedRule
	for _, scope := range []string{"W1", "W2"} {
		s, err := NewScopedRule(kinRule(scope), nil, kin)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Prepare(t.Context(), ask), s.Compile(kinTypes, 1)); err != nil {
			t.Fatal(err)
		}
		scopes = append(scopes, s)
	}
	for _, s := range scopes { // both find that the table has changed
		s.BorrowProgram()
		s.Forget()
		s.ReturnProgram()
		if s.Program != nil {
			t.Error("a rule that is not verified has a program")
		}
		if err := errors.Join(s.Prepare(t.Context(), ask), s.Compile(kinTypes, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 2 {
		t.Errorf("the probe was prepared %d times, want 2", asked)
	}
}

func TestKinFollowTheTypes(t *testing.T) {
	t.Parallel()
	kin := NewKin()
	s, err := NewScopedRule(kinRule("W1"), nil, kin)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(context.Context) (scanners.PreparedProbe, error) { return &fixedProbe{}, nil }
	if err := errors.Join(s.Prepare(t.Context(), ask), s.Compile(kinTypes, 1)); err != nil {
		t.Fatal(err)
	}
	changed := catalog.Catalog{"REP_NOTICE": kinTypes["REP_NOTICE"]}
	typ := changed["REP_NOTICE"]
	typ.ID = 7
	changed["REP_NOTICE"] = typ
	if err := s.Compile(changed, 2); err != nil {
		t.Fatal(err)
	}
	s.BorrowProgram()
	defer s.ReturnProgram()
	draft, err := s.Program.Draft(&row.Row{Columns: kinColumns, Values: []row.Value{row.TextOf("A"), row.IntOf(-1)}})
	if err != nil || draft.Type.ID != 7 {
		t.Errorf("%+v, %v", draft, err)
	}
}
