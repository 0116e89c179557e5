package render

import (
	"fmt"
	"strings"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
)

// View is the data that templates see: a notice in one language. In the texts of the notice, visible marks stand in the
// place of control characters.
type View struct {
	ID, Type, Warehouse, Rule, Scope, Key string
	Status                                string // firing | resolved | event | sent
	Modal                                 string
	TypeID                                int64
	Priority                              int // 1 (low) … 5 (high)
	Count                                 int // how many findings the notice stands for
	Title, Body                           string
	Data                                  []Field
	Labels                                map[string]string
	CreatedAt, ExpiresAt                  time.Time // UTC
	// the receiver of the text; empty if the text has several receivers, or none
	Subscriber delivery.Subscriber

	notice *notice.Notice
}

// Field is a typed field of the notice, with its value as a text.
type Field struct{ Name, Value string }

// Field returns the value of a field, or "" if the notice does not have it.
func (v *View) Field(name string) string {
	for _, f := range v.Data {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// Rest returns the fields that the body does not list. A body without a text of the business system lists every field,
// one a line.
func (v *View) Rest() []Field {
	listed := map[string]bool{}
	for line := range strings.SplitSeq(v.Body, "\n") {
		listed[strings.TrimSpace(line)] = true
	}
	var out []Field
	for _, f := range v.Data {
		if !listed[strings.TrimSpace(f.Name+": "+f.Value)] {
			out = append(out, f)
		}
	}
	return out
}

// In returns the view in another language, such as "zh". Texts without a translation stay the same.
func (v *View) In(language string) *View {
	return NewView(v.notice, language, v.Subscriber)
}

// NewView returns the view of a notice in a language; "" means the notice's own language.
func NewView(original *notice.Notice, language string, to delivery.Subscriber) *View {
	n := original.Localize(language)
	v := &View{
		notice: original,
		ID:     OneLine(n.ID), Type: OneLine(n.Type), TypeID: n.TypeID, Warehouse: OneLine(n.Warehouse), Rule: OneLine(n.Rule), Scope: OneLine(n.Scope),
		Key: OneLine(n.Key), Status: OneLine(string(n.Status)), Modal: OneLine(n.Modal), Priority: n.Priority, Count: n.Count,
		Title: OneLine(n.Title), Body: Lines(n.Body), Labels: make(map[string]string, len(n.Labels)),
		CreatedAt: n.CreatedAt.UTC(), ExpiresAt: n.ExpiresAt.UTC(), Subscriber: to,
	}
	v.Subscriber.Name = OneLine(to.Name)
	for _, f := range n.Data {
		field := Field{Name: OneLine(f.Name)}
		if f.Value != nil {
			field.Value = Lines(fmt.Sprint(f.Value))
		}
		v.Data = append(v.Data, field)
	}
	for name, value := range n.Labels {
		v.Labels[OneLine(name)] = Lines(value)
	}
	return v
}

// Sample returns a view with everything that a notice may have. Templates are run on it when they are loaded.
func Sample() *View {
	created := time.Date(2026, 6, 1, 0, 10, 0, 0, time.UTC)
	return NewView(&notice.Notice{
		ID: "n_aaaaaaaaaaaaaaaaaaaaaaaaaa", Type: "REP_NOTICE", TypeID: 124719, Warehouse: "119240", Rule: "negative-bin-stock",
		Scope: "119240", Key: `[119240,"A-01"]`, Episode: "1780272600000000", Status: notice.Firing, Priority: 3, Modal: "popup",
		Title: "Bin A-01 is at -3", Body: "S1 in A-01 went to -3 in wave 77. Replenish it.",
		Data:   []notice.Field{{Name: "bin", Value: "A-01"}, {Name: "qty", Value: "-3"}, {Name: "none"}},
		Labels: map[string]string{"area": "replenishment"}, Count: 1, CreatedAt: created, ExpiresAt: created.Add(24 * time.Hour),
	}, "", delivery.Subscriber{
		ID: "role:keeper", Name: "Keepers", Language: "en", Mail: []string{"keeper@example.com"}, Phone: "+8613800000000", Alias: "keepers",
		Tags: []string{"dock"}, Channels: map[string]string{"jpush": "170976fa8ab9e6a2b1f"},
	})
}
