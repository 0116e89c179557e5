package strictyaml

import (
	"strconv"
	"strings"
)

// Walk finds the node at a path such as "notice.title.en" or "deliver[0].sink". Where the path ends early, n is
// nil and last is the key of the last field that is there, or the item; that is the place to report what is missing.
func (n *Node) Walk(path string) (found, last *Node) {
	last = n
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		if n == nil {
			return nil, last
		}
		if n.Kind == Sequence {
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(n.Items) {
				return nil, last
			}
			n = n.Items[i]
			last = n
			continue
		}
		f := n.Field(name)
		if f == nil {
			return nil, last
		}
		n, last = f.Value, f.Key
	}
	return n, last
}
