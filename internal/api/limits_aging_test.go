package api_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"tallyman/internal/api"
)

// TestAging proves that the map never holds more than it may, never has what was not put, and keeps what is asked for while there is room.
func TestAging(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const life = 10
		most := rapid.IntRange(1, 8).Draw(t, "most")
		a := api.NewAging(most, life*time.Second)
		now := time.Unix(0, 0)
		values, used := map[int]int{}, map[int]int{}
		others := map[int]map[int]bool{} // keys put or asked for since a key was used
		touch := func(k int) {
			for _, seen := range others {
				seen[k] = true
			}
			others[k] = map[int]bool{}
			used[k] = int(now.Unix())
		}
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, life/2).Draw(t, "later")) * time.Second)
			k := rapid.IntRange(0, 12).Draw(t, "key")
			v, ok := a.Get(now, k)
			if want, was := values[k]; ok && (!was || v != want) {
				t.Fatalf("%d is %d, not %d", k, v, want)
			} else if was && !ok && int(now.Unix())-used[k] < life && len(others[k]) < most {
				t.Fatalf("%d was forgotten after %d s and %d others", k, int(now.Unix())-used[k], len(others[k]))
			}
			if !ok {
				values[k] = i
				a.Put(now, k, i)
			}
			touch(k)
			if a.Len() > 2*most {
				t.Fatalf("%d entries of twice %d", a.Len(), most)
			}
		}
		if now = now.Add(2 * life * time.Second); true {
			if _, ok := a.Get(now, 0); ok || a.Len() != 0 {
				t.Fatalf("%d entries after a rest", a.Len())
			}
		}
	})
}
