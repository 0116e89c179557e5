package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/sinks/push"
)

var pushSteps = []string{
	push.StepClaimed, push.StepTrying, push.StepAnswered, push.StepSettling, push.StepSettled,
}

// A node that dies in any step of a firing or of a delivery to a push channel loses nothing, whether it was alone or another goes on:
// what must arrive arrives, what comes again comes under its key, and what is late stops.
func TestPushesWithNodesKilledInEachStep(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	for _, nodes := range []int{1, 2} {
		t.Run(fmt.Sprintf("of %d nodes", nodes), func(t *testing.T) {
			t.Parallel()
			p := newPushTrial(t, straight)
			var others []*node
			for place := 1; place < nodes; place++ {
				others = append(others, p.start(place))
			}
			for _, step := range slices.Concat(pushSteps, steps) {
				n := p.start(0, childDies+"="+step+"*3") // so that there is something under way by then
				n.dies()
				p.leaseEnds(n)
			}
			p.finish(append(others, p.start(0)))
			p.tested()
		})
	}
}

// Nodes that die at any moment lose nothing either.
func TestPushesWithNodesKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	p := newPushTrial(t, straight)
	nodes := []*node{p.start(0), p.start(1)}
	testenv.Eventually(t, func() bool { return p.heard() > 0 }, 30*time.Second)
	random := rand.New(rand.NewPCG(3, 11))
	for range kills {
		pause(time.Duration(random.Int64N(int64(1500 * time.Millisecond))))
		place := random.IntN(len(nodes))
		dead := nodes[place]
		dead.kill()
		pause(time.Duration(random.Int64N(int64(300 * time.Millisecond))))
		p.leaseEnds(dead)
		nodes[place] = p.start(place)
	}
	p.finish(nodes)
	p.tested()
}

// tested proves that something went wrong at all: calls failed, and came again after they had been taken.
func (p *pushTrial) tested() {
	p.t.Helper()
	failed, again := 0, 0
	for _, r := range p.receivers {
		calls, n := r.seen()
		failed, again = failed+n, again+repeats(calls)
	}
	if failed == 0 || again == 0 {
		p.t.Errorf("%d calls failed, %d came again: the test does not test", failed, again)
	}
}
