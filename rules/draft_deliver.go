package rules

import (
	"fmt"
	"time"

	"tallyman/rules/row"
)

// applied says which entries of deliver apply to the subject. Of a group an entry applies where it does to any of the rows, at the
// earliest of their times.
func (p *Program) applied(s subject) ([]Applied, error) {
	if p.deliver == nil {
		return p.everywhere, nil
	}
	list := make([]Applied, 0, len(p.deliver))
	for i, e := range p.deliver {
		at, ok, err := e.applies(s)
		if err != nil {
			return nil, fmt.Errorf("deliver[%d], to %s: %w", i, p.rule.Deliver[i].Sink, err)
		}
		if ok {
			list = append(list, Applied{Entry: i, At: at})
		}
	}
	return list, nil
}

func (e entry) applies(s subject) (at time.Time, ok bool, err error) {
	if s.result {
		return e.one(subject{s.rows, true})
	}
	atOnce := false
	for i := range s.rows {
		t, applies, err := e.one(subject{rows: s.rows[i : i+1]})
		switch {
		case err != nil:
			return time.Time{}, false, err
		case !applies:
			continue
		case t.IsZero():
			atOnce = true
		case at.IsZero() || t.Before(at):
			at = t
		}
		ok = true
	}
	if atOnce {
		at = time.Time{}
	}
	return at, ok, nil
}

// one is applies for a row, or for a result as a whole.
func (e entry) one(s subject) (at time.Time, ok bool, err error) {
	if e.when != nil {
		if s.result {
			ok, err = e.when.MatchResult(s.rows)
		} else {
			ok, err = e.when.Match(s.rows[0])
		}
		if err != nil {
			return time.Time{}, false, fmt.Errorf("when: %w", err)
		}
		if !ok {
			return time.Time{}, false, nil
		}
	}
	if e.at == nil {
		return time.Time{}, true, nil
	}
	v, err := s.eval(e.at)
	if err != nil {
		return time.Time{}, false, fmt.Errorf("at: %w", err)
	}
	switch v.Kind() {
	case row.Null:
		return time.Time{}, true, nil
	case row.Time:
		return v.Time(), true, nil
	default:
		return time.Time{}, false, fmt.Errorf("at: is a value of kind %s, not a time", v.Kind())
	}
}
