package finding

import (
	"slices"
	"time"
)

// The keys of the findings that no row makes. They are JSON strings, so that they never equal a row's key, which is
// an array.
const (
	NoData  = `"no_data"`  // the probe has returned no row
	OnError = `"on_error"` // the run has failed
)

// Split takes the findings that no row makes out of the others.
func Split(states []State) (rows, alerts []State) {
	for i := range states {
		if key := states[i].Key; key == NoData || key == OnError {
			if rows == nil {
				rows = append(make([]State, 0, len(states)), states[:i]...)
			}
			alerts = append(alerts, states[i])
		} else if rows != nil {
			rows = append(rows, states[i])
		}
	}
	if alerts == nil {
		return states, nil
	}
	return rows, alerts
}

// Alert decides about a finding that no row makes: wrong tells whether the run gives rise to it. st is its state before
// with its key, and no Phase where it is new; last is the due time of the run before. by names what holds it back, "" = nothing does.
func (res *Result) Alert(st State, wrong bool, priority int, p Policy, by string, last, due time.Time) {
	if st.Phase != 0 {
		res.count([]State{st})
		res.states = append(slices.Clip(res.states), st)
	}
	switch {
	case wrong:
		after, kind := p.decide(st, priority, res.Scope.Clock, due)
		if kind != None && by != "" {
			after, kind = after.hold(&st, by), None
		}
		if after == st {
			return
		}
		res.keep(st, after)
		if kind != None {
			res.tell(Tell{Kind: kind, Change: len(res.Changes) - 1, prior: priorOf(&st)})
		}
	case st.Phase != 0:
		if after, gone := p.miss(st, last, due); gone {
			res.drop(st, after)
		} else if after != st {
			res.keep(st, after)
		}
	}
}

// Leave counts a finding that no row makes and that the run says nothing about.
func (res *Result) Leave(st State) { res.count([]State{st}) }
