package cli

import (
	"net/http"
	"strings"
	"testing"
)

func TestSubscribersListReadsEveryPage(t *testing.T) {
	t.Parallel()
	url, calls := server(t,
		answer{200, `{"subscribers":[{"id":"role:keeper"}],"cursor":"next"}`},
		answer{200, `{"subscribers":[{"id":"user:ann","name":"Ann Lee","language":"zh","mail":["ann@example.com","a@example.org"]}]}`})
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
	empty, _ := server(t, answer{200, `{"subscribers":[]}`}, answer{200, `{"subscribers":[]}`})
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
	} {
		url, calls := server(t, answer{200, ann}, answer{200, ann})
		code, out, errOut := run(t, url, "", append([]string{"subscribers", "set", "user:ann"}, strings.Fields(args)...)...)
		if code != ExitFine || !strings.HasPrefix(out, "user:ann\n  name      ") {
			t.Errorf("%s: %d %q %q", args, code, out, errOut)
		}
		if last := (*calls)[1]; last.method != http.MethodPut || last.path != "/api/v1/subscribers/user:ann" || last.body != want {
			t.Errorf("%s made %v", args, last)
		}
	}
	// One that is not there begins empty; another answer is no reason to overwrite it.
	url, calls := server(t, answer{404, `{"status":404,"code":"subscriber_not_found","detail":"no"}`}, answer{201, `{"id":"user:bob","name":"Bob"}`})
	if code, out, _ := run(t, url, "", "subscribers", "set", "user:bob", "--name", "Bob"); code != ExitFine || !strings.Contains(out, "mail      -") || (*calls)[1].body != `{"name":"Bob"}` {
		t.Errorf("a new entry: %d %q %v", code, out, *calls)
	}
	url, calls = server(t, answer{503, `{"status":503,"code":"ledger_unavailable","detail":"no"}`})
	if code, _, _ := run(t, url, "", "subscribers", "set", "user:bob", "--name", "Bob"); code != ExitUnreachable || len(*calls) != 1 {
		t.Errorf("the ledger is away: %d %v", code, *calls)
	}
}

func TestSubscribersShowAndRemove(t *testing.T) {
	t.Parallel()
	url, calls := server(t, answer{200, `{"id":"user:ann","mail":["ann@example.com","a@example.org"]}`}, answer{204, ""},
		answer{404, `{"status":404,"code":"subscriber_not_found","detail":"the address book has no \"user:ann\""}`})
	_, out, _ := run(t, url, "", "subscribers", "show", "user:ann")
	if want := "user:ann\n  name      -\n  language  -\n  mail      ann@example.com, a@example.org\n"; out != want {
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
