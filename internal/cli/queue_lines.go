package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"

	"tallyman/internal/item"
	"tallyman/internal/strictjson"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

const (
	maxLine      = 1 << 20 // bytes of a line, or of a payload with spaces; the server says what is too large for an item
	maxPushBytes = 4 << 20 // of the items of one request
	mostProblems = 20      // that are shown of a file
)

// itemLine is an item, and the line that it stands on.
type itemLine struct {
	line int
	form wire.PushItemForm
	size int // of the line, in bytes
}

// readItems reads a file with an item a line; empty lines are skipped. What is wrong with it is told line by line.
func readItems(in io.Reader, name string, test bool) ([]itemLine, error) {
	scan := bufio.NewScanner(in)
	scan.Buffer(make([]byte, 0, 64<<10), maxLine)
	var lines []itemLine
	var wrong []error
	n := 0
	for scan.Scan() {
		n++
		text := bytes.TrimSpace(scan.Bytes())
		if len(text) == 0 {
			continue
		}
		form, err := readItem(text)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s:%d: %w", name, n, err))
			continue
		}
		form.Test = test
		lines = append(lines, itemLine{n, form, len(text)})
	}
	switch err := scan.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		wrong = append(wrong, fmt.Errorf("%s:%d: the line has more than %d bytes", name, n+1, maxLine))
	case err != nil:
		return nil, &exitError{ExitUsage, err}
	case len(lines)+len(wrong) == 0:
		wrong = append(wrong, fmt.Errorf("%s: the file has no items", name))
	}
	if n := len(wrong); n > mostProblems {
		wrong = append(wrong[:mostProblems], fmt.Errorf("and %d lines more", n-mostProblems))
	}
	return lines, errors.Join(wrong...)
}

// readItem reads a line.
func readItem(text []byte) (wire.PushItemForm, error) {
	var form wire.PushItemForm
	if text[0] != '{' {
		return form, errors.New(`a line is an item, such as {"payload": {"bin": "A-01"}}`)
	}
	if err := strictjson.Unmarshal(text, &form); err != nil {
		return form, err
	}
	if err := checkJSON[wire.PushItemForm](text); err != nil {
		return form, err
	}
	switch {
	case form.Payload == nil:
		return form, errors.New("the item has no payload")
	case form.Priority != 0 && (form.Priority < item.LowestPriority || form.Priority > item.HighestPriority):
		return form, fmt.Errorf("priority is %d to %d", item.LowestPriority, item.HighestPriority)
	case form.Test:
		return form, errors.New("test is for the whole file: use the flag --test")
	}
	if form.Delay != "" {
		if _, err := strictyaml.ParseDuration(form.Delay); err != nil {
			return form, fmt.Errorf("delay: %w", err)
		}
	}
	return form, nil
}

// pushLines pushes the items, as many at a time as a request takes.
func (c *client) pushLines(ctx context.Context, queue, name string, lines []itemLine) (*wire.PushedForm, error) {
	all := &wire.PushedForm{Items: make([]wire.PushedItemForm, 0, len(lines))}
	for len(lines) > 0 {
		n := requestOf(lines)
		var push wire.PushForm
		for _, l := range lines[:n] {
			push.Items = append(push.Items, l.form)
		}
		var done wire.PushedForm
		if err := c.do(ctx, http.MethodPost, queuePath(queue, "items"), push, &done); err != nil {
			return nil, cutShort(err, name, lines[:n], len(all.Items))
		}
		all.Items, lines = append(all.Items, done.Items...), lines[n:]
	}
	return all, nil
}

// requestOf is how many of the items go into the next request.
func requestOf(lines []itemLine) int {
	n, size := 0, 0
	for n < len(lines) && n < item.MaxBatch && (n == 0 || size+lines[n].size <= maxPushBytes) {
		size += lines[n].size
		n++
	}
	return n
}

var itemOfRequest = regexp.MustCompile(`body\.items\[(\d+)\]\.?`)

// cutShort says which lines an error is about, and how far the file was pushed.
func cutShort(err error, name string, lines []itemLine, done int) error {
	text := itemOfRequest.ReplaceAllStringFunc(err.Error(), func(at string) string {
		i, convErr := strconv.Atoi(itemOfRequest.FindStringSubmatch(at)[1])
		if convErr != nil || i >= len(lines) {
			return at
		}
		return fmt.Sprintf("%s:%d: ", name, lines[i].line)
	})
	if exit, ok := errors.AsType[*exitError](err); ok && exit.code == ExitUnreachable {
		text += fmt.Sprintf("\nPushed %s; whether lines %d to %d were is not known. What has an id can be pushed again without harm.",
			count(done, "item"), lines[0].line, lines[len(lines)-1].line)
		return unreachable(errors.New(text))
	}
	return fmt.Errorf("%s\nPushed %s, and none from line %d on", text, count(done, "item"), lines[0].line)
}
