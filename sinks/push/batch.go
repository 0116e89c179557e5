package push

import "time"

// ready looks at what waits from the first on. It returns how many of it make the next call, without those that are late, which it
// gives back; 0 = none yet, and then at is when it will be time. probe asks for one delivery, at once.
func (l *loop) ready(now time.Time, probe bool) (n int, at time.Time) {
	l.dropLate(now)
	most := l.o.Batch.Max
	if probe {
		most = 1
	}
	for n < len(l.waiting) && n < most {
		j := l.waiting[n]
		switch {
		case j.alone && n == 0:
			return 1, now
		case j.alone || j.late(now):
			return n, now // what comes next cannot join
		}
		n++
		if at.IsZero() || j.goBy.Before(at) {
			at = j.goBy
		}
	}
	if n == most || n > 0 && !now.Before(at) {
		return n, now
	}
	return 0, at
}

// dropLate gives back what waits first and may not be tried any more. What is late behind it comes to the front in its turn.
func (l *loop) dropLate(now time.Time) {
	n := 0
	for n < len(l.waiting) && l.waiting[n].late(now) {
		l.release(l.waiting[n])
		n++
	}
	l.shift(n)
}

// shift takes the first n out of what waits.
func (l *loop) shift(n int) []*job {
	first := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	return first
}

// batchReady is when the next call may begin; zero = nothing waits.
func (l *loop) batchReady(now time.Time) time.Time {
	n, at := l.ready(now, l.breaker.look().state == HalfOpen)
	if n == 0 && at.IsZero() {
		return at
	}
	if wait := l.limits.ready(now); wait > 0 {
		at = laterOf(at, now.Add(wait))
	}
	return at
}

// laterOf returns the later of two times.
func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
