package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// What no text may have is refused before a server is asked, with the flag, the argument or the place in the file.
func TestInputFollowsThePolicyOfTexts(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{}`))
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	send := []string{"notices", "send", "--type", "REP_NOTICE", "--warehouse", "1"}
	for want, args := range map[string][]string{
		`--title: bad_text: it has U+202E (RIGHT-TO-LEFT OVERRIDE) at character 2`:                  append(send, "--title", "a\u202eb"),
		`--title: bad_text: it has U+000A (LINE FEED) at character 2; the text must be one line`:    append(send, "--title", "a\nb"),
		`--body: bad_text: it has U+0085 (NEXT LINE)`:                                               append(send, "--body", "a\n\tb\u0085"),
		`--label: bad_text: it has U+0001 (START OF HEADING) at character 5`:                        append(send, "--title", "a", "--label", "ok=1", "--label", "a=bc\x01"),
		`--data: bad_text: it has the byte 0xFF, which is no UTF-8,`:                                append(send, "--data", "a=\n", "--data", "b=\xff"),
		`argument 1 of tallyman deliveries cancel: bad_text: it has U+2066 (LEFT-TO-RIGHT ISOLATE)`: {"deliveries", "cancel", "1\u2066"},
		`--reason: bad_text: it has U+007F (DELETE)`:                                                {"rules", "disable", "stock", "--reason", "\x7f"},
		`--comment: bad_text: it has U+009B`:                                                        {"silences", "add", "area=a", "--for", "1h", "--comment", "one\ntwo\u009b"},
		`--payload: bad_text: a[0]: it has U+0000 (NULL) at character 1`:                            {"queue", "push", "q", "--payload", `{"a":["\u0000"]}`},
		`--payload: bad_text: it has U+D800 (half of a surrogate pair)`:                             {"queue", "push", "q", "--payload", `"\ud800"`},
		`items.jsonl:2: bad_text: payload.note: it has U+001B (ESCAPE)`:                             {"queue", "push", "q", file("items.jsonl", `{"payload":{"note":"one\ntwo"}}`+"\n"+`{"payload":{"note":"\u001b[31m"}}`)},
		`items2.jsonl:1: bad_text: dedupeKey: it has U+000A`:                                        {"queue", "push", "q", file("items2.jsonl", `{"payload":1,"dedupeKey":"a\nb"}`)},
		`list.json: bad_text: [1].title: it has U+202E`:                                             {"notices", "send", file("list.json", `[{"title":"a","body":"\n"},{"title":"\u202e"}]`)},
		`one.json: bad_text: texts.zh.body: it has U+0008`:                                          {"notices", "send", file("one.json", `{"texts":{"zh":{"body":"\n\b"}}}`)},
		`whole.json: bad_text: notices[0].labels.a: it has U+0009`:                                  {"notices", "send", file("whole.json", `{"notices":[{"labels":{"a":"\t"}}]}`)},
		`subs.yaml:1:26: bad_text: warehouse: it has U+0000`:                                        {"subscriptions", "import", file("subs.yaml", `- {type: REP, warehouse: "\0", subscriber: user:a}`)},
		`subs2.yaml:1:10: bad_text: the file has U+202E`:                                            {"subscriptions", "import", file("subs2.yaml", "- {type: \u202e}")},
	} {
		code, out, errOut := run(t, server.URL, "", args...)
		if code == 0 || !strings.Contains(errOut, want) {
			t.Errorf("%q: %d\n%s%s\nwant %s", args, code, out, errOut, want)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
	if code, _, errOut := run(t, server.URL, "", append(send, "--title", "\u200d\u200e\u200f货位", "--body", "one\r\n\ttwo")...); code != 0 {
		t.Errorf("%d: %s", code, errOut)
	}
}
