package strictyaml

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	policy "tallyman/internal/text"
	"tallyman/rules/problem"
)

// MaxSize is the largest file that Parse takes, in bytes.
const MaxSize = 1 << 20

// Parse reads one file. Where it returns problems the file as a whole is of no use and File is nil; faults inside the tree
// are left to Decode, so that one bad entry does not hide the others.
func Parse(name string, src []byte) (*File, problem.List) {
	if len(src) > MaxSize {
		return nil, problem.List{{
			Code: CodeTooLarge, File: name, Message: fmt.Sprintf("the file has %d bytes, at most %d are taken", len(src), MaxSize),
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
	b := &builder{file: f, done: map[*yaml.Node]*Node{}, open: map[*yaml.Node]bool{}}
	f.Root = b.build(root)
	if len(b.fatal) > 0 {
		return nil, b.fatal
	}
	if f.Root.weight > b.limit() || b.merged > b.limit() {
		return nil, problem.List{f.Problem(nil, CodeExpansion,
			fmt.Sprintf("its aliases make more than %d values of the %d that are written", maxWeight, b.actual),
			"write fewer aliases of aliases")}
	}
	return f, nil
}

const hintText = "remove it; it is often copied along with other text and cannot be seen"

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

// document returns the content of the file's only document, or nil where there is none.
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
	return nil, problem.List{f.problemAt(place{second.Line, second.Column}, CodeDocuments,
		"a second document begins here", "a file holds one document: remove the --- before it, or make it a file of its own")}
}

// next returns the content of the next document. The library panics on some input that it should refuse;
// that is this file's fault and nobody else's.
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
