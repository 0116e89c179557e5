package push

import "time"

// pace counts how many deliveries ended of late. So many are claimed ahead, because the next quarter of a second will
// likely take them; a sink that hangs gets none ahead.
type pace struct {
	start     time.Time // of the present span
	now, last int       // counted in it, and in the one before
}

const (
	paceSpan  = 250 * time.Millisecond
	mostAhead = 2000
)

func (p *pace) count(at time.Time, n int) {
	p.roll(at)
	p.now += n
}

func (p *pace) roll(at time.Time) {
	switch at.Sub(p.start) / paceSpan {
	case 0:
	case 1:
		p.start, p.last, p.now = p.start.Add(paceSpan), p.now, 0
	default:
		p.start, p.last, p.now = at, 0, 0
	}
}

// ahead is how many to have at hand beside those that can be tried at once.
func (p *pace) ahead(at time.Time) int {
	p.roll(at)
	return min(max(p.now, p.last), mostAhead)
}
