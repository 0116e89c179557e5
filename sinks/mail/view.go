package mail

import (
	"fmt"
	"time"

	"tallyman/engine/notice"
	"tallyman/sinks"
)

// View is what templates see: the notice in the subscriber's language, with clean texts.
type View struct {
	ID, Type, Warehouse, Rule, Scope, Key string
	Status                                string // firing | resolved | event | sent
	Modal                                 string
	TypeID                                int64
	Priority                              int // 1 (low) … 5 (high)
	Count                                 int // findings that the notice stands for
	Title, Body                           string
	Data                                  []Field
	Labels                                map[string]string
	CreatedAt, ExpiresAt                  time.Time // UTC
	Subscriber                            sinks.Subscriber
}

// Field is a typed field of the notice, as text.
type Field struct{ Name, Value string }

// Field returns the value of a field, and nothing where there is none.
func (v *View) Field(name string) string {
	for _, f := range v.Data {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

func newView(n *notice.Notice, to sinks.Subscriber) *View {
	n = n.Localize(to.Language)
	v := &View{
		ID: oneLine(n.ID), Type: oneLine(n.Type), TypeID: n.TypeID, Warehouse: oneLine(n.Warehouse), Rule: oneLine(n.Rule), Scope: oneLine(n.Scope),
		Key: oneLine(n.Key), Status: oneLine(string(n.Status)), Modal: oneLine(n.Modal), Priority: n.Priority, Count: n.Count,
		Title: oneLine(n.Title), Body: lines(n.Body), Labels: make(map[string]string, len(n.Labels)),
		CreatedAt: n.CreatedAt.UTC(), ExpiresAt: n.ExpiresAt.UTC(), Subscriber: to,
	}
	for _, f := range n.Data {
		field := Field{Name: oneLine(f.Name)}
		if f.Value != nil {
			field.Value = lines(fmt.Sprint(f.Value))
		}
		v.Data = append(v.Data, field)
	}
	for name, value := range n.Labels {
		v.Labels[oneLine(name)] = lines(value)
	}
	return v
}

// sample is what templates are tried on when they are loaded: everything that a notice may have.
func sample() *View {
	created := time.Date(2026, 6, 1, 0, 10, 0, 0, time.UTC)
	return newView(&notice.Notice{
		ID: "n_aaaaaaaaaaaaaaaaaaaaaaaaaa", Type: "REP_NOTICE", TypeID: 124719, Warehouse: "119240", Rule: "negative-bin-stock",
		Scope: "119240", Key: `[119240,"A-01"]`, Episode: "1780272600000000", Status: notice.Firing, Priority: 3, Modal: "popup",
		Title: "Bin A-01 is at -3", Body: "S1 in A-01 went to -3 in wave 77. Replenish it.",
		Data:   []notice.Field{{Name: "bin", Value: "A-01"}, {Name: "qty", Value: "-3"}, {Name: "none"}},
		Labels: map[string]string{"area": "replenishment"}, Count: 1, CreatedAt: created, ExpiresAt: created.Add(24 * time.Hour),
	}, sinks.Subscriber{ID: "role:keeper", Name: "Keepers", Language: "en", Mail: []string{"keeper@example.com"}})
}
