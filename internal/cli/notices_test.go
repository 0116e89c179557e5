package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fullType = `{"code":"FULL","id":7,"name":"Full","fields":{"bin":{"type":"string"},"count":{"type":"int"},"done":{"type":"bool"},"qty":{"type":"decimal"}}}`

func TestNoticesSendByFlags(t *testing.T) {
	t.Parallel()
	url, calls := server(t, reply{200, fullType}, reply{201, `{"notices":[{"id":"n_1","deliveries":2}]}`})
	code, out, errOut := run(t, url, "", "notices", "send", "--type", "FULL", "--warehouse", "119240", "--data", "bin=17=b", "--data", "count=3",
		"--data", "done=true", "--data", "qty=-3.10", "--data", "other=1", "--label", "area=north", "--priority", "5", "--popup", "--expires", "24h",
		"--recipient", "user:1", "--recipient", "role:keeper", "--title", "T", "--deliver", "inbox",
		"--deliver", "sms,strategy=delayed,delay=10m,retry=2,unless=read", "--deliver", "gateway,strategy=timed,within=30m", "--deliver", "mail,strategy=important,until=sent")
	if code != ExitFine || out != "n_1  2 deliveries\n" {
		t.Fatalf("%d %q %q", code, out, errOut)
	}
	want := []serverCall{
		{http.MethodGet, "/api/v1/types/FULL", ""},
		{http.MethodPost, "/api/v1/notices", `{"notices":[{"type":"FULL","warehouse":"119240","title":"T",` +
			`"data":{"bin":"17=b","count":3,"done":true,"other":"1","qty":"-3.10"},"priority":5,"modal":"popup","labels":{"area":"north"},"expires":"24h",` +
			`"recipients":["user:1","role:keeper"],"deliver":[{"sink":"inbox"},` +
			`{"sink":"sms","strategy":"delayed","delay":"10m","retry":2,"unless":"read"},{"sink":"gateway","strategy":"timed","within":"30m"},{"sink":"mail","strategy":"important","until":"sent"}]}]}`},
	}
	if diff := cmp.Diff(want, *calls, cmp.AllowUnexported(serverCall{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestNoticesSendAFile(t *testing.T) {
	t.Parallel()
	const one = `{"type":"FULL","warehouse":"1","data":{"qty":12345678901234567890.5}}`
	for in, want := range map[string]string{
		one:                                  `{"notices":[` + one + `]}`,
		"[" + one + "," + one + "]\n":        `{"notices":[` + one + `,` + one + `]}`,
		`{"notices":[` + one + `],"more":1}`: `{"notices":[` + one + `],"more":1}`,
	} {
		url, calls := server(t, reply{201, `{"notices":[{"id":"n_1","deliveries":1},{"id":"n_2","deliveries":0,"unsubscribed":1}]}`})
		code, out, errOut := run(t, url, in, "notices", "send", "-")
		const told = "n_1  1 delivery\nn_2  0 deliveries; nobody receives it at 1 sink\nSent 2 notices: 1 delivery; 1 go to nobody.\n"
		if code != ExitFine || out != told || (*calls)[0].body != want {
			t.Errorf("%s: %d %q %q, sent %s", in, code, out, errOut, (*calls)[0].body)
		}
	}
	file := filepath.Join(t.TempDir(), "notices.json")
	for in, says := range map[string]string{
		"[" + strings.Repeat("{},", 1000) + "{}]": "it has 1001 notices; at most 1000 are allowed: send it in parts", "": "is empty", "{": "the text is not valid JSON", "[\n {bad}]": "line 2, column 3: [0]: the text is not valid JSON: invalid character 'b'", "5": "neither a notice",
		`"x"`: "neither a notice", "{\"title\":\"a\",\n\"title\":\"b\"}": "line 2, column 1: title: the member occurs twice",
	} {
		if err := os.WriteFile(file, []byte(in), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, errOut := run(t, "http://127.0.0.1:1", "", "notices", "send", file); code != ExitProblems || !strings.Contains(errOut, says) {
			t.Errorf("%q: %d %q", in, code, errOut)
		}
	}
}

func TestNoticesSendNamesTheRequest(t *testing.T) {
	t.Parallel()
	var key string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key = r.Header.Get("Idempotency-Key")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"status":409,"code":"idempotency_key_reused","detail":"another request"}`)
	}))
	defer s.Close()
	code, _, errOut := run(t, s.URL, "{}", "notices", "send", "-", "--key", "order 17")
	if code != ExitProblems || key != "order 17" || !strings.Contains(errOut, "idempotency_key_reused: another request") {
		t.Errorf("%d %q, key %q", code, errOut, key)
	}
}

func TestNoticesMark(t *testing.T) {
	t.Parallel()
	url, calls := server(t, reply{204, ""}, reply{204, ""}, reply{404, `{"status":404,"code":"notice_not_found","detail":"it is in no inbox"}`})
	for verb, want := range map[string]string{"read": "Read.\n", "ack": "Acked.\n"} {
		code, out, errOut := run(t, url, "", "notices", verb, "n_1", "--warehouse", "119240", "--subscriber", "user:1", "--subscriber", "role:k")
		if code != ExitFine || out != want {
			t.Errorf("%s: %d %q %q", verb, code, out, errOut)
		}
		last := (*calls)[len(*calls)-1]
		if last.method != http.MethodPost || last.path != "/api/v1/notices/n_1/"+verb+"?subscriber=user%3A1&subscriber=role%3Ak&warehouse=119240" {
			t.Errorf("%s made %v", verb, last)
		}
	}
	code, _, errOut := run(t, url, "", "notices", "read", "n_2", "--warehouse", "119240", "--subscriber", "user:1")
	if code != ExitProblems || !strings.Contains(errOut, "notice_not_found: it is in no inbox") {
		t.Errorf("%d %q", code, errOut)
	}
}

// What is not given is the token's, for the server to say.
func TestNoticesReadAll(t *testing.T) {
	t.Parallel()
	url, calls := server(t, reply{200, `{"cursor":"c9","notices":[]}`}, reply{204, ""}, reply{204, ""}, reply{204, ""})
	code, out, errOut := run(t, url, "", "notices", "read-all", "--warehouse", "119240", "--subscriber", "user:1")
	if code != ExitFine || out != "All read.\n" {
		t.Errorf("%d %q %q", code, out, errOut)
	}
	run(t, url, "", "notices", "read-all", "--up-to", "c7")
	run(t, url, "", "notices", "read", "n_1")
	var got []string
	for _, c := range *calls {
		got = append(got, c.method+" "+c.path+" "+strings.TrimSpace(c.body))
	}
	want := []string{
		"GET /api/v1/notices?since=9007199254740&subscriber=user%3A1&warehouse=119240 ",
		`POST /api/v1/notices/read-all {"warehouse":"119240","upTo":"c9","subscribers":["user:1"]}`,
		`POST /api/v1/notices/read-all {"upTo":"c7"}`,
		"POST /api/v1/notices/n_1/read ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestNoticesUsage(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"send":                                   "--type, --warehouse",
		"send --type A":                          "needs --warehouse",
		"send --type A --warehouse 1":            "the notice is empty",
		"send x.json --type A":                   "not both",
		"send x.json y.json":                     "nothing else",
		"send nowhere.json":                      "no such file",
		"send --type A --warehouse 1 --data bin": "--data takes NAME=VALUE",
		"send --type A --warehouse 1 --title a --label x=1 --label x=2":                       "has x twice",
		"send --type A --warehouse 1 --title a --deliver ,strategy=timed":                     "the name of a sink",
		"send --type A --warehouse 1 --title a --deliver strategy=timed":                      "the name of a sink",
		"send --type A --warehouse 1 --title a --deliver sms,wait=5m":                         `not "wait=5m"`,
		"send --type A --warehouse 1 --title a --deliver sms,retry=often":                     "retry takes a number",
		"send --type A --warehouse 1 --title a --expires soon":                                "--expires",
		"send --type A --warehouse 1 --title a --expires 5000d":                               "expires: a notice lives from 1s to 3650d",
		"send --type A --warehouse 1 --title a --priority 99":                                 "priority: 99 is not from 1 to 5",
		"send --type A --warehouse 1 --title " + strings.Repeat("x", 501):                     "title: it has 501 characters; at most 500 are allowed",
		"send --type A --warehouse 1 --title a" + strings.Repeat(" --recipient user:a", 1001): "recipients: it has 1001 recipients; at most 1000 are allowed",
		"send --type A --warehouse 1 --title a" + strings.Repeat(" --deliver inbox", 33):      "deliver: it has 33 sinks; at most 32 are allowed",
		"read":                      "ID is missing",
		"read-all n_1":              "n_1",
		"ack n_1 n_2 --warehouse 1": "nothing else",
		"forward n_1":               "no command",
	} {
		code, _, errOut := run(t, "http://127.0.0.1:1", "", append([]string{"notices"}, strings.Fields(args)...)...)
		if code != ExitUsage || !strings.Contains(errOut, says) {
			t.Errorf("%s: %d %q", args, code, errOut)
		}
	}
}
