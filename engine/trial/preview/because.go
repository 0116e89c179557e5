package preview

import (
	"fmt"
	"slices"

	"tallyman/rules/condition"
)

// mostReasons is how many parts of a condition are named for one row.
const mostReasons = 4

// because names the parts of a condition that kept it from being met: those that were not true, as far down as
// one of them explains the whole.
func because(list []condition.Part, outcomes []condition.Outcome) []string {
	var reasons []string
	var explain func(i int)
	explain = func(i int) {
		below := slices.DeleteFunc(children(list, i), func(k int) bool {
			return outcomes[k] != condition.False && outcomes[k] != condition.Null
		})
		if len(below) == 0 {
			reasons = append(reasons, fmt.Sprintf("%s is %s", list[i].Text, outcomes[i]))
		}
		for _, k := range below {
			explain(k)
		}
	}
	explain(0)
	if len(reasons) > mostReasons {
		reasons = append(reasons[:mostReasons], fmt.Sprintf("and %d more", len(reasons)-mostReasons))
	}
	return reasons
}

// children are the parts that part i is made of directly.
func children(list []condition.Part, i int) []int {
	var direct []int
	for k := i + 1; k < len(list) && list[k].Depth > list[i].Depth; k++ {
		if list[k].Depth == list[i].Depth+1 {
			direct = append(direct, k)
		}
	}
	return direct
}
