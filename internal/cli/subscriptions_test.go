package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tallyman/internal/ledger"
)

// serverCall is a request that the server got.
type serverCall struct{ method, path, body string }

// server answers with the answers in turn and remembers the requests.
func server(t *testing.T, answers ...reply) (url string, calls *[]serverCall) {
	t.Helper()
	calls = &[]serverCall{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		*calls = append(*calls, serverCall{r.Method, r.URL.RequestURI(), string(b)})
		if len(*calls) > len(answers) {
			t.Errorf("%s %s: one request too many", r.Method, r.URL)
			return
		}
		a := answers[len(*calls)-1]
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

type reply struct {
	status int
	body   string
}

// run runs a command against the server.
func run(t *testing.T, url, in string, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Run(t.Context(), Process{
		Args: args, Env: []string{"TALLYMAN_SERVER=" + url + "/"}, In: strings.NewReader(in), Out: &o, Err: &e,
	}, Services{})
	return code, o.String(), e.String()
}

func TestSubscriptionsListReadsEveryPage(t *testing.T) {
	t.Parallel()
	url, calls := server(t,
		reply{200, `{"subscriptions":[{"type":"A","warehouse":"*","subscriber":"role:k"}],"cursor":"next"}`},
		reply{200, `{"subscriptions":[{"type":"B","warehouse":"1","subscriber":"user:u"}]}`})
	code, out, errOut := run(t, url, "", "subscriptions", "list", "--warehouse", "*")
	if code != ExitFine || errOut != "" {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	want := "TYPE  WAREHOUSE  SUBSCRIBER\nA     *          role:k\nB     1          user:u\n"
	if out != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
	empty, _ := server(t, reply{200, `{"subscriptions":[]}`})
	if _, out, _ := run(t, empty, "", "subscriptions", "list"); out != "No subscriptions match.\n" {
		t.Errorf("none: %q", out)
	}
	if len(*calls) != 2 || (*calls)[0].path != "/api/v1/subscriptions?limit=1000&warehouse=%2A" ||
		!strings.Contains((*calls)[1].path, "after=next") {
		t.Errorf("requests: %v", *calls)
	}
}

func TestSubscriptionsListAsJSON(t *testing.T) {
	t.Parallel()
	url, _ := server(t, reply{200, `{"subscriptions":[]}`}, reply{200, `{"subscriptions":[{"type":"A","warehouse":"119240","subscriber":"user:1"}]}`})
	if code, out, _ := run(t, url, "", "subscriptions", "list", "-o", "json"); code != ExitFine || out != "{\n  \"subscriptions\": []\n}\n" {
		t.Errorf("an empty list: %d %q", code, out)
	}
	want := "subscriptions:\n  - type: A\n    warehouse: \"119240\"\n    subscriber: user:1\n"
	if code, out, _ := run(t, url, "", "subscriptions", "list", "-o", "yaml"); code != ExitFine || out != want {
		t.Errorf("got %d\n%swant\n%s", code, out, want)
	}
}

func TestSubscriptionsAddAndRemove(t *testing.T) {
	t.Parallel()
	url, calls := server(t,
		reply{200, `{"added":1,"present":0}`}, reply{200, `{"added":0,"present":1}`}, reply{204, ""},
		reply{404, `{"status":404,"code":"subscription_not_found","detail":"there is no such subscription"}`})
	for i, c := range []struct {
		verb string
		code int
		out  string
	}{
		{"add", ExitFine, "Added.\n"},
		{"add", ExitFine, "The subscription exists already.\n"},
		{"remove", ExitFine, "Removed.\n"},
		{"remove", ExitProblems, ""},
	} {
		code, out, errOut := run(t, url, "", "subscriptions", c.verb, "REP_NOTICE", "*", "role:keeper")
		if code != c.code || out != c.out {
			t.Errorf("%d: got %d, %q, %q", i, code, out, errOut)
		}
		if code != ExitFine && !strings.Contains(errOut, "subscription_not_found: there is no such subscription") {
			t.Errorf("%d: got %q", i, errOut)
		}
	}
	if c := (*calls)[0]; c.method != http.MethodPost || c.path != "/api/v1/subscriptions/import" {
		t.Errorf("add made %v", c)
	}
	if c := (*calls)[2]; c.method != http.MethodDelete || c.path != "/api/v1/subscriptions?subscriber=role%3Akeeper&type=REP_NOTICE&warehouse=%2A" {
		t.Errorf("remove made %v", c)
	}
}

func TestSubscriptionsImport(t *testing.T) {
	t.Parallel()
	want := []ledger.Subscription{{Type: "A", Warehouse: "*", Subscriber: "role:k"}, {Type: "B", Warehouse: "1", Subscriber: "user:u"}}
	for name, in := range map[string]string{
		"a list":     `[{"type":"A","warehouse":"*","subscriber":"role:k"},{"type":"B","warehouse":"1","subscriber":"user:u"}]`,
		"as in YAML": "subscriptions:\n- {type: A, warehouse: '*', subscriber: 'role:k'}\n- {type: B, warehouse: '1', subscriber: 'user:u'}\n",
	} {
		url, calls := server(t, reply{200, `{"added":1,"present":1}`})
		code, out, errOut := run(t, url, in, "subscriptions", "import", "-")
		if code != ExitFine || out != "Added 1; already there: 1.\n" {
			t.Errorf("%s: got %d %q %q", name, code, out, errOut)
			continue
		}
		var got struct{ Subscriptions []ledger.Subscription }
		if err := json.Unmarshal([]byte((*calls)[0].body), &got); err != nil || len(got.Subscriptions) != 2 ||
			got.Subscriptions[0] != want[0] || got.Subscriptions[1] != want[1] {
			t.Errorf("%s: sent %s", name, (*calls)[0].body)
		}
	}
}

func TestServersThatCannotHelp(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]reply{
		"not ready": {503, `{"status":503,"code":"ledger_unavailable","detail":"the ledger is out of reach"}`},
		"not ours":  {404, "<html>nothing here</html>"},
		"no JSON":   {200, "<html>hello</html>"},
	} {
		url, _ := server(t, a)
		if code, _, errOut := run(t, url, "", "subscriptions", "list"); code != ExitUnreachable || errOut == "" {
			t.Errorf("%s: got %d %q", name, code, errOut)
		}
	}
}

func TestSubscribersListReadsEveryPage(t *testing.T) {
	t.Parallel()
	url, calls := server(t,
		reply{200, `{"subscribers":[{"id":"role:keeper"}],"cursor":"next"}`},
		reply{200, `{"subscribers":[{"id":"user:ann","name":"Ann Lee","language":"zh","mail":["ann@example.com","a@example.org"]}]}`})
	code, out, errOut := run(t, url, "", "subscribers", "list")
	want := "SUBSCRIBER   MAIL                            LANGUAGE  NAME\n" +
		"role:keeper  -                               -         -\n" +
		"user:ann     ann@example.com, a@example.org  zh        Ann Lee\n"
	if code != ExitFine || out != want {
		t.Errorf("%d\n%s%s", code, out, errOut)
	}
	if len(*calls) != 2 || !strings.Contains((*calls)[1].path, "after=next") {
		t.Errorf("requests: %v", *calls)
	}
	empty, _ := server(t, reply{200, `{"subscribers":[]}`}, reply{200, `{"subscribers":[]}`})
	if _, out, _ := run(t, empty, "", "subscribers", "list"); out != "The address book is empty.\n" {
		t.Errorf("an empty book: %q", out)
	}
	if _, out, _ := run(t, empty, "", "subscribers", "list", "-o", "json"); out != "{\n  \"subscribers\": []\n}\n" {
		t.Errorf("an empty book as JSON: %q", out)
	}
}

func TestSubscribersSetChangesWhatIsNamed(t *testing.T) {
	t.Parallel()
	const ann = `{"id":"user:ann","name":"Ann Lee","language":"zh","mail":["ann@example.com"]}`
	for args, want := range map[string]string{
		"--language de": `{"name":"Ann Lee","language":"de","mail":["ann@example.com"]}`,
		"--name Ann --mail a@x.org --mail b@x.org": `{"name":"Ann","language":"zh","mail":["a@x.org","b@x.org"]}`,
		"--mail=": `{"name":"Ann Lee","language":"zh"}`,
		"--name= --language= --mail=ann@example.com": `{"mail":["ann@example.com"]}`,
		"--phone +4930123 --alias a.lee --tag dock --tag night --channel jpush=17 --channel fcm=a=b": `{"name":"Ann Lee","language":"zh","mail":["ann@example.com"],` +
			`"phone":"+4930123","alias":"a.lee","tags":["dock","night"],"channels":{"fcm":"a=b","jpush":"17","wecom":"ANN"}}`,
		"--tag= --channel wecom=": `{"name":"Ann Lee","language":"zh","mail":["ann@example.com"]}`,
	} {
		before := ann
		if strings.Contains(args, "--channel") {
			before = ann[:len(ann)-1] + `,"tags":["old"],"channels":{"wecom":"ANN"}}`
		}
		url, calls := server(t, reply{200, before}, reply{200, ann})
		code, out, errOut := run(t, url, "", append([]string{"subscribers", "set", "user:ann"}, strings.Fields(args)...)...)
		if code != ExitFine || !strings.HasPrefix(out, "user:ann\n  name      ") {
			t.Errorf("%s: %d %q %q", args, code, out, errOut)
		}
		if last := (*calls)[1]; last.method != http.MethodPut || last.path != "/api/v1/subscribers/user:ann" || last.body != want {
			t.Errorf("%s made %v", args, last)
		}
	}
	// One that is not there begins empty; another answer is no reason to overwrite it.
	url, calls := server(t, reply{404, `{"status":404,"code":"subscriber_not_found","detail":"no"}`}, reply{201, `{"id":"user:bob","name":"Bob"}`})
	if code, out, _ := run(t, url, "", "subscribers", "set", "user:bob", "--name", "Bob"); code != ExitFine || !strings.Contains(out, "mail      -") || (*calls)[1].body != `{"name":"Bob"}` {
		t.Errorf("a new entry: %d %q %v", code, out, *calls)
	}
	url, calls = server(t, reply{503, `{"status":503,"code":"ledger_unavailable","detail":"no"}`})
	if code, _, _ := run(t, url, "", "subscribers", "set", "user:bob", "--name", "Bob"); code != ExitUnreachable || len(*calls) != 1 {
		t.Errorf("the ledger is away: %d %v", code, *calls)
	}
}

func TestSubscribersShowAndRemove(t *testing.T) {
	t.Parallel()
	url, calls := server(t, reply{200, `{"id":"user:ann","mail":["ann@example.com","a@example.org"],"phone":"+4930123","tags":["dock","night"],"channels":{"jpush":"17"}}`}, reply{204, ""},
		reply{404, `{"status":404,"code":"subscriber_not_found","detail":"the address book has no \"user:ann\""}`})
	_, out, _ := run(t, url, "", "subscribers", "show", "user:ann")
	if want := "user:ann\n  name      -\n  language  -\n  mail      ann@example.com, a@example.org\n  phone     +4930123\n  tags      dock, night\n  jpush     17\n"; out != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
	if code, out, _ := run(t, url, "", "subscribers", "remove", "user:ann", "-o", "json"); code != ExitFine || !strings.Contains(out, `"removed": "user:ann"`) {
		t.Errorf("removed: %d %q", code, out)
	}
	if c := (*calls)[1]; c.method != http.MethodDelete || c.path != "/api/v1/subscribers/user:ann" {
		t.Errorf("remove made %v", c)
	}
	if code, _, errOut := run(t, url, "", "subscribers", "remove", "user:ann"); code != ExitProblems || !strings.Contains(errOut, "subscriber_not_found") {
		t.Errorf("again: %d %q", code, errOut)
	}
	if code, _, errOut := run(t, url, "", "subscribers", "set", "user:ann"); code != ExitUsage || !strings.Contains(errOut, "needs --name") {
		t.Errorf("nothing to set: %d %q", code, errOut)
	}
}

const waitingOrigins = `{"origins":[{"name":"wms","configured":true,"subscriptions":3,"asked":"2026-06-01T08:00:00Z","answered":"2026-06-01T08:00:00Z","error":"row 3: a NULL",
	"waits":{"hash":"abc","since":"2026-06-01T08:00:00Z","added":1,"removed":2,"removing":[{"type":"A","warehouse":"*","subscriber":"user:a","origin":"wms"}]}},
	{"name":"old","configured":false,"subscriptions":1,"asked":"2026-06-01T08:00:00Z"}]}`

func TestSubscriptionsOfASource(t *testing.T) {
	t.Parallel()
	url, _ := server(t, reply{200, waitingOrigins}, reply{200, `{"origins":[]}`},
		reply{200, `{"subscriptions":[{"type":"A","warehouse":"*","subscriber":"role:k","origin":"wms"},{"type":"A","warehouse":"*","subscriber":"user:u"}]}`})
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"origins"}, `ORIGIN  SUBSCRIPTIONS  STATE     LAST LIST
wms     3              waits     2026-06-01 08:00:00Z
old     1              orphaned  -
wms fails: row 3: a NULL
wms waits: a list would remove 2 of 3 subscriptions; tallyman subscriptions confirm wms takes it
old is orphaned: the configuration of the node does not name the source; tallyman subscriptions release old lets people
                 change its subscriptions
`},
		{[]string{"origins"}, "No subscriptions come from a source.\n"},
		{[]string{"list"}, "TYPE  WAREHOUSE  SUBSCRIBER  ORIGIN\nA     *          role:k      wms\nA     *          user:u      -\n"},
	} {
		if code, out, errOut := run(t, url, "", append([]string{"subscriptions"}, c.args...)...); code != ExitFine || out != c.want {
			t.Errorf("%d %s\n%s\nwant\n%s", code, errOut, out, c.want)
		}
	}
}

// The list that was shown is confirmed, and nothing where somebody says no.
func TestConfirmSubscriptions(t *testing.T) {
	t.Parallel()
	url, calls := server(t, reply{200, waitingOrigins}, reply{200, waitingOrigins}, reply{200, `{"added":1,"removed":2}`}, reply{200, waitingOrigins},
		reply{409, `{"code":"list_changed","detail":"that list does not wait any more"}`}, reply{200, waitingOrigins}, reply{200, waitingOrigins}, reply{200, `{"released":1}`})
	for _, c := range []struct {
		in   string
		args []string
		code int
		says string
	}{
		{"n\n", []string{"confirm", "wms"}, ExitProblems, "nothing was changed"},
		{"y\n", []string{"confirm", "wms"}, ExitFine, "It adds 1 subscription and removes 2:\n  A * user:a\n  and 1 more\n"},
		{"", []string{"confirm", "wms", "--yes"}, ExitProblems, "list_changed"},
		{"", []string{"confirm", "old", "--yes"}, ExitProblems, "no list of old waits"},
		{"", []string{"confirm", "erp", "--yes"}, ExitProblems, "no subscriptions come from a source erp"},
		{"", []string{"release", "old"}, ExitFine, "Released 1 subscription: they count as made by hand."},
	} {
		if code, out, errOut := run(t, url, c.in, append([]string{"subscriptions"}, c.args...)...); code != c.code || !strings.Contains(errOut+out, c.says) {
			t.Errorf("%v: %d\n%s%s", c.args, code, errOut, out)
		}
	}
	if got := (*calls)[2]; got.path != "/api/v1/subscriptions/origins/wms/confirm" || got.body != `{"hash":"abc"}` {
		t.Errorf("%+v", got)
	}
}

// What the source lists is not made by hand: a saved list is read without it.
func TestImportLeavesOutWhatHasAnOrigin(t *testing.T) {
	t.Parallel()
	url, calls := server(t, reply{200, `{"added":1,"present":0}`})
	const list = `[{"type":"A","warehouse":"*","subscriber":"role:k","origin":"wms"},{"type":"B","warehouse":"*","subscriber":"role:k"}]`
	if code, _, errOut := run(t, url, list, "subscriptions", "import", "-"); code != ExitFine {
		t.Errorf("%d %s", code, errOut)
	}
	if got := (*calls)[0].body; got != `{"subscriptions":[{"type":"B","warehouse":"*","subscriber":"role:k"}]}` {
		t.Error(got)
	}
	if code, _, errOut := run(t, url, `[{"type":"A","warehouse":"*","subscriber":"role:k","origin":"wms"}]`, "subscriptions", "import", "-"); code != ExitProblems || !strings.Contains(errOut, "every subscription of the file has an origin") {
		t.Errorf("%d %s", code, errOut)
	}
}
