package overview

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

type (
	historyInput struct {
		Warehouses []string `query:"warehouse,explode" doc:"only these warehouses; repeat it for more than one. By default all warehouses of the token" nullable:"false"`
		Types      []string `query:"type,explode" doc:"only these types, by code; may be repeated. Queue items have no type" nullable:"false"`
		From       string   `query:"from" doc:"RFC 3339; by default one hour before to" example:"2026-06-01T00:00:00Z"`
		To         string   `query:"to" doc:"RFC 3339; by default now"`
	}
	historyOutput struct{ Body *wire.HistoryForm }
)

// maxTypes is the maximum number of types in a request.
const maxTypes = 100

func (h *Handlers) registerHistory(operations huma.API) {
	get := api.Operation("overview-history", http.MethodGet, "/overview/history", "operations", "Show notices, findings, ages and lateness over time")
	get.Description = "The points are one minute long for the last two hours, ten minutes for the last 25 hours, and one hour for the last 31 days. One node takes a sample " +
		"each minute. A point without samples has only notices, because no node took a sample then. The answer has only the rules, notices, findings and items of the " +
		"token's warehouses."
	huma.Register(operations, get, h.history)
}

// history answers GET /overview/history.
func (h *Handlers) history(ctx context.Context, in *historyInput) (*historyOutput, error) {
	warehouses, prob := warehousesOf(auth.From(ctx), in.Warehouses)
	if prob != nil {
		return nil, prob
	}
	o := h.lookout.look(ctx)
	r, prob := in.span(o.at)
	if prob != nil {
		return nil, prob
	}
	all, err := h.read(ctx, o, r)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	form := &wire.HistoryForm{From: r.from, To: r.to, StepSeconds: int64(r.step / time.Second), Points: []wire.HistoryPointForm{}}
	sees := func(warehouse string) bool { return len(warehouses) == 0 || slices.Contains(warehouses, warehouse) }
	typed := func(name string) bool { return len(in.Types) == 0 || slices.Contains(in.Types, name) }
	byWarehouse, byType := map[string]int64{}, map[string]int64{}
	who := auth.From(ctx)
	for start := r.from; start.Before(r.to); start = start.Add(r.step) {
		s := all.at(start)
		var sum ledger.Figures
		for cell, f := range s.cells {
			if cell.Warehouse != "" && who.InWarehouse(cell.Warehouse) && (typed(cell.Type) || cell.Type == "") {
				byWarehouse[cell.Warehouse] += f.Notices
			}
			if !sees(cell.Warehouse) {
				continue
			}
			if cell.Type != "" {
				byType[cell.Type] += f.Notices
			}
			if typed(cell.Type) {
				sum.Add(f)
			} else if cell.Type == "" {
				sum.Add(ledger.Figures{QueueAge: f.QueueAge})
			}
		}
		form.Points = append(form.Points, newPoint(start, s.taken, &sum))
	}
	form.Warehouses, form.Types = sharesOf(byWarehouse), sharesOf(byType)
	if last, err := h.deps.Ledger.LastSample(ctx, time.Minute); err == nil {
		form.Sampled = wire.Moment(last)
	}
	return &historyOutput{form}, nil
}

func sharesOf(notices map[string]int64) []wire.HistoryShareForm {
	list := make([]wire.HistoryShareForm, 0, len(notices))
	for _, name := range slices.Sorted(maps.Keys(notices)) {
		list = append(list, wire.HistoryShareForm{Name: name, Notices: notices[name]})
	}
	return list
}

// span is the period of a history and the length of its points.
type span struct {
	from, to time.Time
	step     time.Duration
}

// span parses the period, and chooses the shortest step whose samples cover the whole period. The period is extended to
// whole steps.
func (in *historyInput) span(now time.Time) (span, *wire.Problem) {
	if len(in.Types) > maxTypes {
		return span{}, api.BadParameter("type is given more than 100 times")
	}
	r := span{to: now}
	for _, p := range []struct {
		name, value string
		into        *time.Time
	}{{"from", in.From, &r.from}, {"to", in.To, &r.to}} {
		if p.value == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, p.value)
		if err != nil || at.Year() < 1970 {
			return r, api.BadParameter(p.name + " " + policy.Quote(p.value) + " is not a time such as 2026-06-01T00:00:00Z")
		}
		*p.into = at
	}
	if r.to.After(now) {
		r.to = now
	}
	if r.from.IsZero() {
		r.from = r.to.Add(-time.Hour)
	}
	if !r.from.Before(r.to) {
		return r, api.BadParameter("from is not before to, or in the future")
	}
	oldest := now.Add(-levels[len(levels)-1].kept)
	if r.from.Before(oldest) {
		r.from = oldest
	}
	if r.to.Before(r.from) {
		r.to = r.from
	}
	for _, l := range levels {
		r.step = l.step
		if now.Sub(r.from) <= l.kept-time.Hour {
			break
		}
	}
	r.from = r.from.UTC().Truncate(r.step)
	r.to = r.to.UTC().Add(r.step - 1).Truncate(r.step)
	return r, nil
}

// read returns the recorded samples of the period, and for its end the counts that no sample has yet.
func (h *Handlers) read(ctx context.Context, o *outlook, r span) (series, error) {
	made := series{}
	add := func(step time.Duration, from, to time.Time, notices bool) error {
		list, err := h.deps.Ledger.Samples(ctx, step, from, to)
		for i := range list {
			made.add(r.step, &list[i], notices)
		}
		return err
	}
	recorded := r.from // Samples of the step are recorded up to this time.
	if r.step > time.Minute {
		last, err := h.deps.Ledger.LastSample(ctx, r.step)
		if err != nil {
			return nil, err
		}
		if end := last.Add(r.step); !last.IsZero() && end.After(recorded) {
			recorded = end
		}
		if err := add(r.step, r.from, r.to, true); err != nil {
			return nil, err
		}
	}
	if err := add(time.Minute, recorded, r.to, false); err != nil {
		return nil, err
	}
	for start, n := range o.notices.minutes {
		if start.Before(recorded) || !start.Before(r.to) {
			continue
		}
		into := made.at(start.Truncate(r.step))
		for cell, t := range n {
			into.add(cell, ledger.Figures{Notices: t.count, Urgent: t.urgent})
		}
	}
	return made, nil
}

func newPoint(start time.Time, taken int, f *ledger.Figures) wire.HistoryPointForm {
	p := wire.HistoryPointForm{Start: start, Notices: f.Notices, Urgent: f.Urgent, Samples: taken}
	if taken == 0 {
		return p
	}
	mean := func(sum int64) float64 { return float64((sum*10+int64(taken)/2)/int64(taken)) / 10 }
	p.Looked = &wire.HistoryFiguresForm{
		Firing: mean(f.Firing), Pending: mean(f.Pending), Waiting: mean(total(f.Ages)),
		WaitingP50: percentile(f.Ages, 50), WaitingP99: percentile(f.Ages, 99),
		QueueAge: float64(f.QueueAge) / 1000, Lateness: float64(f.Lateness) / 1000,
	}
	return p
}

func total(ages []int64) (sum int64) {
	for _, n := range ages {
		sum += n
	}
	return sum
}

// percentile returns the age in seconds that this percentage of the deliveries does not exceed, or 0 without
// deliveries. percentile interpolates between the bounds of the histogram.
func percentile(ages []int64, of int64) float64 {
	rank := float64(total(ages)*of) / 100
	var lower time.Duration
	var before int64
	for i, n := range ages {
		if i == len(ledger.AgeBounds) {
			return lower.Seconds()
		}
		upper := ledger.AgeBounds[i]
		if n > 0 && float64(before+n) >= rank {
			return view.Seconds(lower + time.Duration(float64(upper-lower)*(rank-float64(before))/float64(n)))
		}
		before, lower = before+n, upper
	}
	return 0
}
