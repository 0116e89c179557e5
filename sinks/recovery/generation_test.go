package recovery

import (
	"errors"
	"testing"
)

// The check that ends a generation goes well. Until there is another, the reason why there is none stays.
func TestTheCauseOfALossStays(t *testing.T) {
	t.Parallel()
	k := bare(ErrUnavailable)
	g := &Generation{Epoch: "1-a"}
	k.generations.begin(g)
	odd := errors.New("odd")
	k.generations.lose(g, odd)
	k.generations.fail(nil)
	if err := k.Ready(); !errors.Is(err, odd) {
		t.Errorf("Ready: %v", err)
	}
	down := errors.New("down")
	k.generations.fail(down)
	if err := k.Ready(); !errors.Is(err, down) {
		t.Errorf("Ready: %v", err)
	}
	k.generations.begin(&Generation{Epoch: "2-b"})
	k.generations.fail(down) // a check that failed while there is one is Keeper.reach's business
	if err := k.Ready(); err != nil {
		t.Errorf("Ready: %v", err)
	}
}
