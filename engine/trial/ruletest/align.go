package ruletest

import "tallyman/rules/strictyaml"

// pair is two elements that stand for each other; -1 where the other list has none.
type pair struct{ want, got int }

// fitting is how much a notice counts that is all that was written; one that is a part of it counts less.
const fitting = 1000

// likeness is how much a notice is like what was written: 0 where nothing of it is the same.
func likeness(want *strictyaml.Node, got map[string]any, exact bool) int {
	differences := len(differ("", want, got, exact))
	if differences == 0 {
		return fitting
	}
	written := 0
	for _, f := range want.Fields {
		written += max(1, len(f.Value.Fields))
	}
	return max(written-differences, 0)
}

// align sets the notices beside what is expected, in order, so that as much as possible is alike; what is left between is set beside
// each other as it comes.
func align(want []noticeExpect, got []map[string]any, exact bool) []pair {
	like := make([][]int, len(want))
	best := make([][]int, len(want)+1) // of want[i:] and got[j:]
	best[len(want)] = make([]int, len(got)+1)
	for i := len(want) - 1; i >= 0; i-- {
		like[i], best[i] = make([]int, len(got)), make([]int, len(got)+1)
		for j := len(got) - 1; j >= 0; j-- {
			like[i][j] = likeness(want[i].node, got[j], exact)
			best[i][j] = max(best[i+1][j], best[i][j+1], best[i+1][j+1]+like[i][j])
		}
	}
	var pairs []pair
	i, j, fromI, fromJ := 0, 0, 0, 0
	between := func() {
		for fromI < i || fromJ < j {
			p := pair{-1, -1}
			if fromI < i {
				p.want = fromI
				fromI++
			}
			if fromJ < j {
				p.got = fromJ
				fromJ++
			}
			pairs = append(pairs, p)
		}
	}
	for i < len(want) && j < len(got) {
		switch {
		case like[i][j] > 0 && best[i][j] == best[i+1][j+1]+like[i][j]:
			between()
			pairs = append(pairs, pair{i, j})
			i, j = i+1, j+1
			fromI, fromJ = i, j
		case best[i][j] == best[i+1][j]:
			i++
		default:
			j++
		}
	}
	i, j = len(want), len(got)
	between()
	return pairs
}
