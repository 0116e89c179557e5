package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const logsHead = `# Log messages

This page is generated from the code. It lists every message that a node writes. A message is constant text, and is the key of its event:
search for the whole message. [Logs](../how-to/logs.md) says how to set format and level, and which attributes lines have.
`

// varies is the level of a message whose level is decided when the line is written.
const varies = "One of these, as the case is"

// logEvent is a message with its level, and the packages that write it.
type logEvent struct {
	message, level string
	packages       []string
}

// logsPage lists every message.
func logsPage() (string, error) {
	events, err := logEvents(root)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(logsHead)
	for _, level := range []string{"ERROR", "WARN", "INFO", "DEBUG", varies} {
		var rows [][]string
		for _, e := range events {
			if e.level == level {
				rows = append(rows, []string{e.message, strings.Join(e.packages, " ")})
			}
		}
		b.WriteString("\n## " + level + "\n\n" + table([]string{"message", "written by"}, rows))
	}
	return b.String(), nil
}

// root is the module's folder, from this one.
const root = "../.."

// logFolders are the folders that a node is made of.
var logFolders = []string{"engine", "internal", "rules", "scanners", "sinks"}

// skippedFolders have no code of a node.
var skippedFolders = []string{"node_modules", "testdata", "testenv", "web", "e2e"}

// levelsOf are the methods that write lines, with the place of the message among their arguments, and the level; "" = that is the argument
// before the message.
var levelsOf = map[string]struct {
	at    int
	level string
}{
	"Debug": {0, "DEBUG"}, "Info": {0, "INFO"}, "Warn": {0, "WARN"}, "Error": {0, "ERROR"},
	"DebugContext": {1, "DEBUG"}, "InfoContext": {1, "INFO"}, "WarnContext": {1, "WARN"}, "ErrorContext": {1, "ERROR"},
	"LogAttrs": {2, ""}, "Log": {2, ""},
}

// logEvents reads the messages from the source below a folder. A message that is no constant text is an error, and so is one that has
// two levels.
func logEvents(root string) ([]logEvent, error) {
	found := map[string]*logEvent{}
	var errs []error
	for _, folder := range logFolders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && slices.Contains(skippedFolders, entry.Name()) {
				return filepath.SkipDir
			}
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if err := addEvent(found, call, pathOf(root, path)); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", files.Position(call.Pos()), err))
				}
				return true
			})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	list := make([]logEvent, 0, len(found))
	for _, e := range found {
		slices.Sort(e.packages)
		e.packages = slices.Compact(e.packages)
		list = append(list, *e)
	}
	slices.SortFunc(list, func(a, b logEvent) int {
		return cmp.Or(slices.Compare(a.packages, b.packages), strings.Compare(a.message, b.message))
	})
	return list, errors.Join(errs...)
}

func pathOf(root, path string) string {
	rel, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		return path
	}
	return code(filepath.ToSlash(rel))
}

// lineOf returns the message and the level of a call that writes a line: one of the methods of something that is named like a logger, as
// log, Logger or logger().
func lineOf(call *ast.CallExpr) (message ast.Expr, level string) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil, ""
	}
	m, known := levelsOf[method.Sel.Name]
	if !known || len(call.Args) <= m.at || !isLogger(method.X) {
		return nil, ""
	}
	if m.level != "" {
		return call.Args[m.at], m.level
	}
	return call.Args[m.at], levelName(call.Args[m.at-1])
}

func isLogger(of ast.Expr) bool {
	if inner, isCall := of.(*ast.CallExpr); isCall {
		of = inner.Fun
	}
	name := ""
	switch x := of.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
	}
	return slices.Contains([]string{"log", "logger"}, strings.ToLower(name))
}

// addEvent keeps the message of a call, if the call writes a line.
func addEvent(found map[string]*logEvent, call *ast.CallExpr, where string) error {
	text, level := lineOf(call)
	if text == nil {
		return nil
	}
	message, ok := constantText(text)
	if !ok {
		return errors.New("the message of a log line is no constant text")
	}
	e := found[message]
	if e == nil {
		found[message] = &logEvent{message, level, []string{where}}
		return nil
	}
	e.packages = append(e.packages, where)
	if e.level != level {
		return fmt.Errorf("the message %q has two levels, so it is the key of two events", message)
	}
	return nil
}

// levelName is the level that an argument names; one that is a variable is decided when the line is written.
func levelName(of ast.Expr) string {
	if s, ok := of.(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "Level") {
		return strings.ToUpper(strings.TrimPrefix(s.Sel.Name, "Level"))
	}
	return varies
}

// constantText is the text of a literal, or of literals with + between.
func constantText(of ast.Expr) (string, bool) {
	switch x := of.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(x.Value)
		return text, err == nil && x.Kind == token.STRING
	case *ast.BinaryExpr:
		left, isLeft := constantText(x.X)
		right, isRight := constantText(x.Y)
		return left + right, x.Op == token.ADD && isLeft && isRight
	}
	return "", false
}
