package strictyaml

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	policy "tallyman/internal/text"
	"tallyman/rules/problem"
)

// MaxSize is the size of the largest file that Parse takes, in bytes.
const MaxSize = 1 << 20

// Parse reads one file. Where it returns problems, nobody can use the file, and File is nil. Parse leaves faults inside
// the tree to Decode, so that one bad entry does not hide the others.
func Parse(name string, src []byte) (*File, problem.List) {
	if len(src) > MaxSize {
		return nil, problem.List{{
			Code: CodeTooLarge, File: name, Message: fmt.Sprintf("the file has %d bytes, at most %d are allowed", len(src), MaxSize),
			Hint: "split it into several files",
		}}
	}
	text := strings.TrimPrefix(string(src), "\ufeff")
	if at := invalidUTF8(text); at >= 0 {
		f := newFile(name, text[:at])
		return nil, problem.List{f.problemAt(f.placeAt(at), CodeNotUTF8, "the file is not UTF-8 from here on", "save it as UTF-8")}
	}
	f := newFile(name, text)
	if fault := policy.Check(text, policy.Lines); fault != nil {
		return nil, problem.List{f.problemAt(f.placeAt(fault.Offset), CodeText, "the file has "+fault.Name+" here, which no text may have", hintText)}
	}
	root, problems := f.document()
	if len(problems) > 0 {
		return nil, problems
	}
	if root == nil {
		f.Root = &Node{Kind: Mapping, Line: 1, Col: 1, weight: 1}
		return f, nil
	}
	b := &builder{file: f, actual: written(root), done: map[*yaml.Node]*Node{}, open: map[*yaml.Node]bool{}}
	f.Root = b.build(root)
	if len(b.fatal) > 0 {
		return nil, b.fatal
	}
	if f.Root.weight > b.limit() || b.merged > b.limit() {
		return nil, problem.List{f.Problem(nil, CodeExpansion,
			fmt.Sprintf("the file writes %d values, and its aliases expand them to more than %d", b.actual, maxWeight),
			"write fewer aliases of aliases")}
	}
	return f, nil
}

const hintText = "remove the character: it is invisible, and often comes along when text is copied"

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(s string) int {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// document returns the content of the file's only document. It returns nil for an empty file.
func (f *File) document() (*yaml.Node, problem.List) {
	dec := yaml.NewDecoder(strings.NewReader(f.src))
	first, err := next(dec)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, problem.List{f.syntaxProblem(err)}
	}
	second, err := next(dec)
	switch {
	case errors.Is(err, io.EOF):
		return first, nil
	case err != nil:
		return nil, problem.List{f.syntaxProblem(err)}
	}
	return nil, problem.List{f.problemAt(textPlace{second.Line, second.Column}, CodeDocuments,
		"a second document begins here", "a file holds one document: remove the --- before it, or make it a file of its own")}
}

// next returns the content of the next document. The library panics on some input that it should refuse. next turns
// such a panic into an error of the file.
func next(dec *yaml.Decoder) (content *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			content, err = nil, fmt.Errorf("yaml: %v", r)
		}
	}()
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode {
		return &doc, nil
	}
	return doc.Content[0], nil
}

// maxWeight bounds the nodes that a file has after its aliases are expanded. The limit is maxWeight plus eight times
// the nodes that the file writes.
const maxWeight = 100_000

// builder turns the library's nodes into Nodes. Aliases become shared nodes, and merge keys are applied.
type builder struct {
	file   *File
	done   map[*yaml.Node]*Node
	open   map[*yaml.Node]bool // The nodes between the root and the present node. An alias to one of them is a loop.
	fatal  problem.List        // Problems that make the tree unusable.
	actual int                 // The nodes that the file writes.
	merged int                 // The weight of everything that merge keys name.
}

func (b *builder) build(y *yaml.Node) *Node {
	if y.Kind == yaml.AliasNode {
		if b.open[y.Alias] {
			b.fatal = append(b.fatal, b.file.problemAt(textPlace{y.Line, y.Column}, CodeAlias,
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

// written counts the nodes that the file writes. An alias does not count.
func written(y *yaml.Node) int {
	if y.Kind == yaml.AliasNode {
		return 0
	}
	n := 1
	for _, c := range y.Content {
		n += written(c)
	}
	return n
}

// limit returns the most nodes that the expanded file may have.
func (b *builder) limit() int { return maxWeight + 8*b.actual }

// sum adds two weights. It stops far below an overflow.
func sum(a, b int) int { return min(a+b, 1<<40) }

// fields fills a mapping with its own fields, then with the fields of merge keys.
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

// mergeKey applies a merge key (<<). Fields of the mapping itself, and of earlier merge keys, win.
func (b *builder) mergeKey(n *Node, have map[string]*Node, from *Node) {
	n.weight = sum(n.weight, from.weight)
	if b.merged = sum(b.merged, from.weight); b.merged > b.limit() {
		return // Parse will refuse the file
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

// checkTag refuses tags that the library would ignore silently.
func (b *builder) checkTag(n *Node, y *yaml.Node) {
	if y.Style&yaml.TaggedStyle != 0 && !slices.Contains(coreTags, y.ShortTag()) {
		b.fault(n, n, CodeTag, fmt.Sprintf("the tag %s is not known here", clip(y.ShortTag())), "leave it out")
	}
}

// fault records a fault of n. Its place is at, a node inside n.
func (b *builder) fault(n, at *Node, code, message, hint string) {
	n.faults = append(n.faults, pendingProblem{at, code, message, hint})
}
