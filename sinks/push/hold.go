package push

import (
	"time"

	"tallyman/internal/delivery"
)

// longestHold is how long a delivery is put off at most because of a silence; then it is asked again, whatever has become of that.
const longestHold = 5 * time.Minute

// hold takes out of the first n that wait those that a silence holds back: they are put off until it ends. It is asked right before each
// call, and tells whether there was one.
func (l *loop) hold(n int) bool {
	kept := l.waiting[:0:0]
	for _, j := range l.waiting[:n] {
		id, left := l.o.Silenced(j.Notice)
		if id == "" {
			kept = append(kept, j)
			continue
		}
		delete(l.jobs, j.Seq)
		s := settled(&j.Claimed, delivery.SettleHold, "")
		s.HeldBy, s.After = id, min(left, longestHold)
		l.records.add(s)
	}
	if len(kept) == n {
		return false
	}
	l.waiting = append(kept, l.waiting[n:]...)
	return true
}
