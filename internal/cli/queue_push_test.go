package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func pushedAnswer(items ...string) reply {
	return reply{200, `{"items":[` + strings.Join(items, ",") + `]}`}
}

func TestQueuePush(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "item.json")
	if err := os.WriteFile(file, []byte("{\"bin\": \"A-01\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, in string
		args     []string
		answer   string
		body     string
		out      string
	}{
		{
			name: "everything", args: []string{"--payload", `{"bin": "A-01"}`, "--priority", "5", "--dedupe-key", "A-01", "--delay", "10m", "--id", "bin-1", "--test"},
			answer: `{"id":"bin-1","outcome":"pushed"}`, out: "Pushed bin-1.\n",
			body: `{"items":[{"id":"bin-1","priority":5,"payload":{"bin":"A-01"},"dedupeKey":"A-01","delay":"10m","test":true}]}`,
		},
		{
			name: "a file", args: []string{"--payload", "@" + file}, answer: `{"id":"i_a","outcome":"exists"}`,
			body: `{"items":[{"priority":3,"payload":{"bin":"A-01"}}]}`, out: "i_a was there already; nothing was changed.\n",
		},
		{
			name: "standard input", in: "12345678901234567890", args: []string{"--payload", "-"}, answer: `{"id":"i_b","outcome":"duplicate","of":"i_a"}`,
			body: `{"items":[{"priority":3,"payload":12345678901234567890}]}`, out: "Left out: i_a holds the dedupe key.\n",
		},
	} {
		url, calls := server(t, pushedAnswer(c.answer))
		code, out, errOut := run(t, url, c.in, append([]string{"queue", "push", "q"}, c.args...)...)
		if code != ExitFine || out != c.out || errOut != "" {
			t.Errorf("%s: exit code %d, %q, %s", c.name, code, out, errOut)
		}
		if want := (serverCall{"POST", "/api/v1/queues/q/items", c.body}); (*calls)[0] != want {
			t.Errorf("%s: sent %v", c.name, (*calls)[0])
		}
	}
}

func TestQueuePushOfAFile(t *testing.T) {
	t.Parallel()
	in := `{"payload": 1, "priority": 5}` + "\n\n" + `{"id": "b", "payload": {"x": [1, 2]}, "dedupeKey": "k", "delay": "1d"}` + "\r\n" + `{"payload": "c"}`
	url, calls := server(t, pushedAnswer(`{"id":"i_a","outcome":"pushed"}`, `{"id":"b","outcome":"exists"}`, `{"id":"i_c","outcome":"duplicate","of":"b"}`))
	code, out, errOut := run(t, url, in, "queue", "push", "q", "-", "--test")
	if code != ExitFine || out != "Pushed 1 item; already there: 1; left out 1, because other items hold their dedupe keys.\n" || errOut != "" {
		t.Errorf("exit code %d, %q, %s", code, out, errOut)
	}
	const want = `{"items":[{"priority":5,"payload":1,"test":true},{"id":"b","payload":{"x":[1,2]},"dedupeKey":"k","delay":"1d","test":true},{"payload":"c","test":true}]}`
	if (*calls)[0].body != want {
		t.Errorf("sent %s", (*calls)[0].body)
	}
}

func TestQueuePushOfManyItems(t *testing.T) {
	t.Parallel()
	line := func(i int) string { return fmt.Sprintf(`{"id":"x%d","payload":%d}`, i, i) }
	var in, first, second []string
	for i := range 1003 {
		in = append(in, line(i))
		done := fmt.Sprintf(`{"id":"x%d","outcome":"pushed"}`, i)
		if i < 1000 {
			first = append(first, done)
		} else {
			second = append(second, done)
		}
	}
	url, calls := server(t, pushedAnswer(first...), pushedAnswer(second...),
		pushedAnswer(first...), reply{422, `{"code":"invalid_body","detail":"body.items[2].dedupeKey: it is too long","errors":[{"location":"body.items[2].dedupeKey","message":"it is too long"},{"location":"body.items[1].id","message":"no id"}]}`},
		pushedAnswer(first...), reply{503, `{"code":"queue_unavailable","detail":"out of reach"}`})
	text := strings.Join(in, "\n")
	code, out, _ := run(t, url, text, "queue", "push", "q", "-", "-o", "json")
	if code != ExitFine || strings.Count(out, `"outcome": "pushed"`) != 1003 {
		t.Errorf("exit code %d, %d pushed", code, strings.Count(out, "pushed"))
	}
	if !strings.HasPrefix((*calls)[1].body, `{"items":[{"id":"x1000",`) {
		t.Errorf("then sent %.80s", (*calls)[1].body)
	}
	code, _, errOut := run(t, url, text, "queue", "push", "q", "-")
	const refused = "tallyman: invalid_body: -:1003: dedupeKey: it is too long\n  -:1002: id: no id\nPushed 1000 items, and none from line 1001 on\n"
	if code != ExitProblems || errOut != refused {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	code, _, errOut = run(t, url, text, "queue", "push", "q", "-")
	if code != ExitUnreachable || !strings.Contains(errOut, "Pushed 1000 items; it is not known whether lines 1001 to 1003 were pushed.") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
}

func TestRequestsOfLargeItems(t *testing.T) {
	t.Parallel()
	lines := []itemLine{{size: 3 << 20}, {size: 1 << 20}, {size: 1}, {size: maxPushBytes + 1}, {size: 1}}
	for _, want := range []int{2, 1, 1, 1} { // the last but one alone: the server says what it thinks of it
		n := requestOf(lines)
		if n != want {
			t.Fatalf("%d items of %d left, want %d", n, len(lines), want)
		}
		lines = lines[n:]
	}
}

// TestNothingIsCutOff pushes a payload of the most bytes that the command reads, and one of a byte more.
func TestNothingIsCutOff(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]int{maxLine: 1, maxLine + 1: 0} {
		url, requests := server(t, slices.Repeat([]reply{{http.StatusOK, `{"items":[{"id":"i_a","outcome":"pushed"}]}`}}, want)...)
		code, _, errOut := run(t, url, `"`+strings.Repeat("x", size-2)+`"`, "queue", "push", "q", "--payload", "-")
		if len(*requests) != want || (want == 0) != (code == ExitUsage && strings.Contains(errOut, "there are more than 1048576 bytes")) {
			t.Errorf("%d bytes: exit code %d, %d requests, %s", size, code, len(*requests), errOut)
		}
	}
}

// TestQueuePushOfABadFile shows that nothing is sent of a file that is not fine as a whole.
func TestQueuePushOfABadFile(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                    "-: the file has no items\n",
		"{\"payload\":1}\n{\"payload\":1,}":   "-:2: the text is not valid JSON: invalid character ',' at start of value at byte 12\n",
		`{"payload":1`:                        "-:1: the text is not valid JSON: unexpected EOF at byte 12\n",
		`{"payload":1,"prio":2}`:              "-:1: prio: unexpected property\n",
		`{"payload":1,"Priority":2}`:          "-:1: Priority: unexpected property\n",
		`{"payload":1,"id":"a","id":"b"}`:     "-:1: id: the member occurs twice\n",
		`{"payload":{"a":{"b":1,"b":2}}}`:     "-:1: payload.a.b: the member occurs twice\n",
		`{"payload":1,"priority":"high"}`:     "-:1: priority: the value must not be a text\n",
		`{"priority":2}`:                      "-:1: the item has no payload\n",
		`{"payload":1,"priority":6}`:          "-:1: priority is 1 to 5\n",
		`{"payload":1} {"payload":2}`:         "-:1: the text is not valid JSON: invalid character '{' after top-level value at byte 14\n",
		`{"payload":1}}`:                      "-:1: the text is not valid JSON: invalid character '}' after top-level value at byte 13\n",
		`{"payload":1,"delay":"soon"}`:        "-:1: delay: a duration is numbers with the units d, h, m and s, such as 90s or 1d12h\n",
		`{"payload":1,"test":true}`:           "-:1: test is for the whole file: use the flag --test\n",
		"{\"payload\":1}\n2":                  "-:2: a line is an item, such as {\"payload\": {\"bin\": \"A-01\"}}\n",
		"{}\n" + strings.Repeat("x", maxLine): "-:2: the line has more than 1048576 bytes\n",
		strings.Repeat("{}\n", 30):            "-:20: the item has no payload\nand 10 lines more\n",
	} {
		url, _ := server(t) // any request is one too many
		code, _, errOut := run(t, url, in, "queue", "push", "q", "-")
		if code != ExitProblems || !strings.Contains(errOut, want) {
			t.Errorf("%.40q: exit code %d, %s", in, code, errOut)
		}
	}
}
