package push_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tallyman/internal/delivery"
	"tallyman/sinks"
	"tallyman/sinks/push"
)

// tried is an attempt as the model sees it.
type tried struct {
	at     time.Time // that it began, by the bubble's clock
	done   time.Time
	answer string
	late   bool // past its deadline or expiry, as the claim could see them
}

// historian is a channel that draws its answers, and keeps what it was asked.
type historian struct {
	m       *memory
	mu      sync.Mutex
	answers map[int64][]string // to come, by number; then "taken"
	tries   map[int64][]tried
	open    map[int64]bool
	wrong   string
}

func (h *historian) push(ctx context.Context, batch []delivery.Delivery) error {
	at := time.Now()
	h.mu.Lock()
	answer := "taken"
	for _, d := range batch {
		if h.open[d.Seq] {
			h.wrong = fmt.Sprintf("%d is tried twice at a time", d.Seq)
		}
		h.open[d.Seq] = true
	}
	if list := h.answers[batch[0].Seq]; len(list) > 0 {
		answer, h.answers[batch[0].Seq] = list[0], list[1:]
	}
	h.mu.Unlock()
	err := say(ctx, answer, batch[0].Seq)
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, d := range batch {
		h.open[d.Seq] = false
		if answer == "refused" && i > 0 {
			continue // it was not tried for itself
		}
		late := !at.Before(h.m.row(d.Seq).ends)
		h.tries[d.Seq] = append(h.tries[d.Seq], tried{at, time.Now(), answer, late})
	}
	return err
}

func say(ctx context.Context, answer string, seq int64) error {
	switch answer {
	case "down":
		return errDown
	case "refused":
		return refuse(seq)
	case "later":
		return &sinks.LaterError{After: 3 * time.Second, Err: errDown}
	case "hangs":
		return hang(ctx, nil)
	case "slow":
		select {
		case <-time.After(2 * time.Second):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	default:
		return nil
	}
}

var strategies = rapid.Custom(func(t *rapid.T) delivery.Strategy {
	span := func(name string) time.Duration {
		return time.Duration(rapid.IntRange(1, 120).Draw(t, name)) * time.Second
	}
	switch rapid.SampledFrom([]delivery.StrategyKind{delivery.Immediate, delivery.Delayed, delivery.Important, delivery.Timed}).Draw(t, "strategy") {
	case delivery.Delayed:
		return delayed(span("delay"), rapid.IntRange(0, 3).Draw(t, "retry"))
	case delivery.Timed:
		return timed(span("within"))
	case delivery.Important:
		return rapid.SampledFrom([]delivery.Strategy{important, untilSent}).Draw(t, "until")
	default:
		return immediate
	}
})

// plan is a life that was drawn: rapid's own clock must not run in a bubble.
type plan struct {
	o     push.Options
	two   bool // nodes share the sink
	steps []step
}

// step commits a delivery, and lets time pass.
type step struct {
	finding     string
	strategy    delivery.Strategy
	life        time.Duration
	answers     []string
	pause, jump time.Duration
}

var plans = rapid.Custom(func(t *rapid.T) plan {
	seconds := func(name string, least, most int) time.Duration {
		return time.Duration(rapid.IntRange(least, most).Draw(t, name)) * time.Second
	}
	var p plan
	p.o.Concurrency = rapid.IntRange(1, 8).Draw(t, "concurrency")
	p.o.Batch = push.Batch{Max: rapid.IntRange(1, 4).Draw(t, "batch"), Wait: seconds("wait", 0, 5)}
	if rapid.Bool().Draw(t, "no breaker") {
		patient(&p.o)
	}
	p.two = rapid.Bool().Draw(t, "two nodes")
	for range rapid.IntRange(1, 12).Draw(t, "deliveries") {
		s := step{
			finding:  rapid.SampledFrom([]string{"", "", "A-01", "A-02"}).Draw(t, "finding"),
			strategy: strategies.Draw(t, "is"),
			life:     seconds("life", 1, 300),
			answers:  rapid.SliceOfN(rapid.SampledFrom([]string{"down", "down", "refused", "later", "hangs", "slow"}), 0, 5).Draw(t, "answers"),
			pause:    seconds("pause", 0, 30),
		}
		if rapid.IntRange(0, 4).Draw(t, "jumps") == 0 && !p.two { // a lease that a jump has ended is another node's to try
			s.jump = seconds("by", -600, 600)
		}
		p.steps = append(p.steps, s)
	}
	return p
})

// TestModel lets deliveries of all strategies meet a channel that fails, hangs, refuses and asks for time, while the
// ledger's clock jumps or a second node has its share of them, and holds each life against the table of strategies in
// docs/reference/rule-file.md.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := plans.Draw(rt, "plan")
		var err error
		synctest.Test(t, func(t *testing.T) { err = p.live(t) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// live runs the plan to its end, and tells what went against the table.
func (p *plan) live(t *testing.T) error {
	t.Helper()
	h := &historian{answers: map[int64][]string{}, tries: map[int64][]tried{}, open: map[int64]bool{}}
	for i, s := range p.steps {
		h.answers[int64(i+1)] = s.answers
	}
	w := newWorld(t, func(o *push.Options) {
		o.Concurrency, o.Batch, o.Breaker, o.Logger = p.o.Concurrency, p.o.Batch, p.o.Breaker, nil
		h.m, _ = o.Ledger.(*memory)
	}, h.push)
	if p.two {
		w.another()
	}
	var seqs []int64
	back := time.Duration(0) // that the ledger's clock jumps
	for _, s := range p.steps {
		seqs = append(seqs, w.add(s.finding, s.strategy, s.life))
		w.runner.Wake()
		wait(s.pause)
		w.jump(s.jump)
		back -= min(s.jump, 0)
	}
	wait(6*time.Minute + back) // longer than any notice lives
	w.stop()
	if h.wrong != "" {
		return errors.New(h.wrong)
	}
	for _, seq := range seqs {
		if err := lived(w.row(seq), h.tries[seq]); err != nil {
			return fmt.Errorf("delivery %d: %w\n%+v\ntried %+v", seq, err, w.row(seq), h.tries[seq])
		}
	}
	return inOrder(w, h.tries, seqs)
}

// lived holds one delivery against the table.
func lived(r row, tries []tried) error {
	attempts := 1 << 30 // that the strategy allows
	switch r.Strategy.Kind {
	case delivery.Immediate:
		attempts = 1
	case delivery.Delayed:
		attempts = 1 + r.Strategy.Retry
	default:
	}
	ended := -1
	for i, try := range tries {
		if try.answer == "taken" || try.answer == "slow" || try.answer == "refused" || i+1 == attempts {
			ended = i
			break
		}
	}
	if ended >= 0 && ended != len(tries)-1 {
		return fmt.Errorf("tried again after attempt %d", ended+1)
	}
	for _, try := range tries {
		if try.late {
			return fmt.Errorf("tried when it was too late")
		}
	}
	return state(r, tries, ended)
}

// state compares the end of a delivery with the last answers.
func state(r row, tries []tried, ended int) error {
	if ended < 0 {
		if r.Strategy.Until == delivery.UntilSent {
			if r.state != pending {
				return fmt.Errorf("it is to be tried until it was sent, but it is %d", r.state)
			}
			return nil
		}
		switch first := r.Notice.ExpiresAt.Sub(r.Deadline); {
		case r.Deadline.IsZero() && r.state != canceled, !r.Deadline.IsZero() && first >= 0 && r.state != timedOut:
			return fmt.Errorf("no attempt has ended it, but it is %d", r.state)
		case first < 0 && r.state != timedOut && r.state != canceled: // both may pass in one jump
			return fmt.Errorf("both its ends have passed, but it is %d", r.state)
		}
		return nil
	}
	last := tries[ended]
	over := (r.state == timedOut || r.state == canceled) && r.ended.Before(last.done.Add(time.Second)) // before it was recorded
	switch taken := last.answer == "taken" || last.answer == "slow"; {
	case taken && r.state != sent:
		return fmt.Errorf("it was taken, but it is %d", r.state)
	case !taken && r.state != failed && !over:
		return fmt.Errorf("it was refused or had its last attempt, but it is %d", r.state)
	}
	return nil
}

// inOrder holds the attempts of each finding against the order of its deliveries.
func inOrder(w *world, tries map[int64][]tried, seqs []int64) error {
	for i, earlier := range seqs {
		for _, later := range seqs[i+1:] {
			a, b := w.row(earlier), w.row(later)
			if a.finding == "" || a.finding != b.finding || len(tries[later]) == 0 {
				continue
			}
			if a.state == pending || a.ended.After(tries[later][0].at) {
				return fmt.Errorf("%d was tried before %d had ended", later, earlier)
			}
		}
	}
	return nil
}
