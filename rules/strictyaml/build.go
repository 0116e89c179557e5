package strictyaml

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"tallyman/rules/problem"
)

// maxWeight is how many nodes a file may have after aliases are expanded, beyond eight times those written.
const maxWeight = 100_000

// builder turns the decoder's nodes into ours: aliases become shared nodes, merge keys are applied.
type builder struct {
	file   *File
	done   map[*yaml.Node]*Node
	open   map[*yaml.Node]bool // on the way from the root: an alias to one of these is a loop
	fatal  problem.List        // the tree cannot be used
	actual int                 // nodes written
	merged int                 // weight of all that merge keys name
}

func (b *builder) build(y *yaml.Node) *Node {
	if y.Kind == yaml.AliasNode {
		if b.open[y.Alias] {
			b.fatal = append(b.fatal, b.file.problemAt(place{y.Line, y.Column}, CodeAlias,
				fmt.Sprintf("*%s stands inside &%s, which it repeats", y.Value, y.Value), "an alias cannot contain itself"))
			return &Node{Kind: Scalar, Tag: "!!null", Line: y.Line, Col: y.Column, weight: 1}
		}
		y = y.Alias
	}
	if n := b.done[y]; n != nil {
		return n
	}
	b.open[y] = true
	defer delete(b.open, y)
	b.actual++

	n := &Node{Line: y.Line, Col: y.Column, style: y.Style, weight: 1}
	b.done[y] = n
	b.checkTag(n, y)
	switch y.Kind {
	case yaml.MappingNode:
		n.Kind = Mapping
		b.fields(n, y)
	case yaml.SequenceNode:
		n.Kind = Sequence
		for _, c := range y.Content {
			item := b.build(c)
			n.Items = append(n.Items, item)
			n.weight = sum(n.weight, item.weight)
		}
	default:
		n.Kind, n.Tag, n.Text = Scalar, y.ShortTag(), y.Value
	}
	return n
}

// limit is how many nodes the file may make of those that were read so far.
func (b *builder) limit() int { return maxWeight + 8*b.actual }

// sum stops well below overflow.
func sum(a, b int) int { return min(a+b, 1<<40) }

// fields fills a mapping: first what is written, then what merge keys add.
func (b *builder) fields(n *Node, y *yaml.Node) {
	first := map[string]*Node{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		if k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge" {
			merges = append(merges, v)
			continue
		}
		key, value := b.build(k), b.build(v)
		n.weight = sum(n.weight, sum(key.weight, value.weight))
		if key.Kind != Scalar || key.IsNull() {
			hint := ""
			if key.Kind == Mapping {
				hint = bracesHint
			}
			b.fault(n, key, CodeType, "a name was expected here, found "+key.describe(), hint)
			continue
		}
		if one := first[key.Text]; one != nil {
			b.fault(n, key, CodeDuplicate, fmt.Sprintf("%q is set twice", clip(key.Text)),
				fmt.Sprintf("it is first set in line %d; keep one of them", one.Line))
			continue
		}
		first[key.Text] = key
		n.Fields = append(n.Fields, Field{Name: key.Text, Key: key, Value: value})
	}
	for _, m := range merges {
		b.mergeKey(n, first, b.build(m))
	}
}

// mergeKey applies <<: what is written in the mapping itself, or merged before, wins.
func (b *builder) mergeKey(n *Node, have map[string]*Node, from *Node) {
	n.weight = sum(n.weight, from.weight)
	if b.merged = sum(b.merged, from.weight); b.merged > b.limit() {
		return // the file will be refused
	}
	sources := []*Node{from}
	if from.Kind == Sequence {
		sources = from.Items
	}
	for _, s := range sources {
		if s.Kind != Mapping {
			b.fault(n, s, CodeType, "<< takes a map, or a list of maps, found "+s.describe(), "")
			continue
		}
		n.faults = append(n.faults, s.faults...)
		for _, f := range s.Fields {
			if have[f.Name] == nil {
				have[f.Name] = f.Key
				n.Fields = append(n.Fields, f)
			}
		}
	}
}

var coreTags = []string{"!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!map", "!!seq", "!!merge"}

// checkTag refuses what the decoder would otherwise drop without a word.
func (b *builder) checkTag(n *Node, y *yaml.Node) {
	if y.Style&yaml.TaggedStyle != 0 && !slices.Contains(coreTags, y.ShortTag()) {
		b.fault(n, n, CodeTag, fmt.Sprintf("the tag %s means nothing here", clip(y.ShortTag())), "leave it out")
	}
}

// fault notes what is wrong with n, at a node inside it.
func (b *builder) fault(n, at *Node, code, message, hint string) {
	n.faults = append(n.faults, fault{at, code, message, hint})
}
