package api

import "time"

// aging is a map that forgets what nobody has asked for in a while, and never holds more than twice most. It has two halves:
// what is asked for moves to the young one; when that is full, or old enough, it becomes the old one, and what was there before is gone.
type aging[K comparable, V any] struct {
	most   int
	life   time.Duration // an entry stays for so long after it was last asked for, at least, while there is room
	turned time.Time
	young  map[K]V
	old    map[K]V
}

func newAging[K comparable, V any](most int, life time.Duration) *aging[K, V] {
	return &aging[K, V]{most: most, life: life, young: map[K]V{}}
}

func (a *aging[K, V]) get(now time.Time, k K) (V, bool) {
	a.turn(now)
	if v, ok := a.young[k]; ok {
		return v, true
	}
	v, ok := a.old[k]
	if ok {
		delete(a.old, k)
		a.put(now, k, v)
	}
	return v, ok
}

func (a *aging[K, V]) put(now time.Time, k K, v V) {
	if len(a.young) >= a.most {
		a.age(now)
	}
	a.young[k] = v
}

func (a *aging[K, V]) remove(k K) {
	delete(a.young, k)
	delete(a.old, k)
}

func (a *aging[K, V]) turn(now time.Time) {
	switch since := now.Sub(a.turned); {
	case since >= 2*a.life:
		a.age(now)
		a.age(now)
	case since >= a.life:
		a.age(now)
	}
}

func (a *aging[K, V]) age(now time.Time) {
	a.old, a.young, a.turned = a.young, map[K]V{}, now
}
