package cli

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

// apiAnswer is what the API's own tests say that it answers.
func apiAnswer(t *testing.T, name string) reply {
	t.Helper()
	b, err := os.ReadFile("../api/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return reply{200, string(b)}
}

func decode[T any](t *testing.T, a reply) T {
	t.Helper()
	var form T
	if err := json.Unmarshal([]byte(a.body), &form); err != nil {
		t.Fatal(err)
	}
	return form
}

// someTime is shortly after the deliveries of the API's tests were made.
var someTime = time.Date(2026, 6, 1, 0, 10, 30, 0, time.UTC)

func TestDeliveriesTable(t *testing.T) {
	t.Parallel()
	list := decode[wire.DeliveriesForm](t, apiAnswer(t, "deliveries.json"))
	list.Cursor = "1"
	var wide, narrow strings.Builder
	writeDeliveries(&wide, 200, &list, someTime)
	writeDeliveries(&narrow, 80, &list, someTime)
	const want = `DELIVERY  SINK     STATE     ATTEMPTS  NEXT      LAST ERROR                          TITLE              WAREHOUSE  AGE  NOTICE
6         gateway  pending   0         behind    -                                   Bin A-01 is at -3  119240     30s  n_abc
5         sms      canceled  0         -         the notice was read                 Bin A-01 is at -3  119240     30s  n_abc
4         sms      failed    1         -         400 Bad Request: no such number     Bin A-01 is at -3  119241     30s  n_other
3         sms      pending   0         in 9m30s  -                                   Bin A-01 is at -3  119240     30s  n_abc
2         gateway  pending   2         now       503 Service Unavailable: try later  Bin A-01 is at -3  119240     30s  n_abc
1         inbox    sent      1         -         -                                   Bin A-01 is at -3  119240     30s  n_abc
There are more: --limit 0 lists all, --after 1 continues.
`
	if wide.String() != want {
		t.Errorf("got\n%s", wide.String())
	}
	for line := range strings.Lines(narrow.String()) {
		if terminal.CellWidth(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("too wide: %s", line)
		}
	}
	if strings.Contains(narrow.String(), "NOTICE") || !strings.Contains(narrow.String(), "LAST ERROR") {
		t.Errorf("got\n%s", narrow.String())
	}
}

func TestDeliveriesList(t *testing.T) {
	t.Parallel()
	page := func(before string, ids ...string) reply {
		forms := make([]string, len(ids))
		for i, id := range ids {
			forms[i] = `{"id":` + id + `,"state":"sent"}`
		}
		return reply{200, `{"deliveries":[` + strings.Join(forms, ",") + `]` + before + `}`}
	}
	url, calls := server(t, page(`,"cursor":"8"`, "9", "8"), page("", "7"))
	code, out, errOut := run(t, url, "", "deliveries", "list", "--sink", "gateway", "--state", "failed,sent", "--limit", "0", "-o", "json")
	if code != ExitFine || strings.Count(out, `"id"`) != 3 || strings.Contains(out, `"cursor"`) {
		t.Errorf("%d %s%s", code, out, errOut)
	}
	if (*calls)[0].path != "/api/v1/deliveries?limit=1000&sink=gateway&state=failed&state=sent" || !strings.Contains((*calls)[1].path, "after=8") {
		t.Errorf("asked %v", *calls)
	}
	url, calls = server(t, page(`,"cursor":"8"`, "9", "8"), page("", "1"))
	if _, out, _ := run(t, url, "", "deliveries", "list", "--limit", "2", "--after", "20"); !strings.Contains(out, "--after 8") || (*calls)[0].path != "/api/v1/deliveries?after=20&limit=2" {
		t.Errorf("%s after %v", out, *calls)
	}
	url, _ = server(t, page(""))
	if _, out, _ := run(t, url, "", "deliveries", "list"); out != "No deliveries match.\n" {
		t.Errorf("none: %q", out)
	}
	if code, _, errOut := run(t, url, "", "deliveries", "list", "--limit", "-1"); code != ExitUsage || !strings.Contains(errOut, "--limit takes") {
		t.Errorf("%d %s", code, errOut)
	}
}

func TestDeliveryText(t *testing.T) {
	t.Parallel()
	list := decode[wire.DeliveriesForm](t, apiAnswer(t, "deliveries.json"))
	const retried = `Delivery 2 to gateway: pending
  notice      n_abc (firing)
  title       Bin A-01 is at -3
  of          rule negative-bin-stock, type REP_NOTICE, warehouse 119240
  strategy    timed, within 30m
  attempts    2
  last error  503 Service Unavailable: try later
  next        node node-1 is trying the delivery now
  deadline    2026-06-01 00:40:00Z (in 29m30s)
  created     2026-06-01 00:10:00Z
  expires     2026-06-02 00:10:00Z (in 23h59m)
`
	for i, want := range map[int]string{
		0: "next        after the earlier delivery of the same finding\n", 1: "strategy    delayed, at 2026-06-01 01:10:00Z\n",
		2: "of          a business system, type", 3: "strategy    delayed, delay 10m, retry 2, unless read\n", 4: retried,
		5: "to          role:keeper, user:1\n  strategy    tried until it succeeds\n",
	} {
		var text strings.Builder
		writeDelivery(&text, &list.Deliveries[i], someTime)
		if !strings.Contains(text.String(), want) {
			t.Errorf("%d: got\n%s", i, text.String())
		}
	}
	waiting := list.Deliveries[3]
	for at, want := range map[time.Duration]string{9 * time.Minute: "2026-06-01 00:20:00Z (in 1m)", 10 * time.Minute: "due since 2026-06-01 00:20:00Z; sinks show sms says"} {
		var text strings.Builder
		writeDelivery(&text, &waiting, someTime.Add(at-30*time.Second))
		if !strings.Contains(text.String(), want) {
			t.Errorf("after %s: got\n%s", at, text.String())
		}
	}
}

func TestDeliveriesShow(t *testing.T) {
	t.Parallel()
	url, calls := server(t, apiAnswer(t, "delivery.json"), reply{404, `{"status":404,"code":"delivery_not_found","detail":"there is no delivery \"3\""}`})
	code, out, errOut := run(t, url, "", "deliveries", "show", "2")
	if code != ExitFine || !strings.HasPrefix(out, "Delivery 2 to gateway: pending\n") || (*calls)[0].path != "/api/v1/deliveries/2" {
		t.Errorf("%d %s%s %v", code, out, errOut, *calls)
	}
	const attempts = `  expires     2026-06-02 00:10:00Z

The last attempts, the latest first
  WHEN                      TOOK    STATUS
  2026-06-01 00:10:20.000Z  1.235s  503
                            503 Service Unavailable: try later
  2026-06-01 00:10:00.000Z  10s     -
                            gateway did not answer: no answer within 10s
`
	if !strings.HasSuffix(out, attempts) {
		t.Errorf("got\n%s", out)
	}
	if code, _, errOut := run(t, url, "", "deliveries", "show", "3"); code != ExitProblems || !strings.Contains(errOut, "delivery_not_found") {
		t.Errorf("%d %s", code, errOut)
	}
	for _, id := range []string{"x", "0", "-2"} {
		if code, _, errOut := run(t, url, "", "deliveries", "show", "--", id); code != ExitUsage || !strings.Contains(errOut, "is not the number of a delivery") {
			t.Errorf("%s: %d %s", id, code, errOut)
		}
	}
}

func TestDeliveriesAreChangedByNumber(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]struct {
		request, answer, out string
		code                 int
	}{
		"retry 4":                        {"POST /api/v1/deliveries/4/retry ", `{"id":4,"sink":"sms"}`, "Tried again: delivery 4 to sms.\n", ExitFine},
		"cancel 4 --reason done":         {`POST /api/v1/deliveries/4/cancel {"reason":"done"}`, `{"id":4,"sink":"sms"}`, "Canceled: delivery 4 to sms.\n", ExitFine},
		"retry 4 5":                      {`POST /api/v1/deliveries/retry {"ids":[4,5]}`, `{"changed":2,"ids":[4,5]}`, "Tried again: 2 deliveries.\n", ExitFine},
		"cancel 4 5 6 --reason done":     {`POST /api/v1/deliveries/cancel {"ids":[4,5,6],"reason":"done"}`, `{"changed":1,"ids":[5]}`, "Canceled: 1 delivery.\n", ExitProblems},
		"cancel 4 5 -o json":             {`POST /api/v1/deliveries/cancel {"ids":[4,5]}`, `{"changed":2,"ids":[4,5]}`, `"changed": 2`, ExitFine},
		"retry --all --sink sms --yes":   {`POST /api/v1/deliveries/retry {"filter":{"sink":"sms"}}`, `{"changed":7}`, "Tried again: 7 deliveries.\n", ExitFine},
		"cancel --all --rule r --yes":    {`POST /api/v1/deliveries/cancel {"filter":{"rule":"r"}}`, `{"changed":0}`, "Canceled: 0 deliveries. No delivery matches state pending, rule r.\n", ExitFine},
		"retry --all --yes --state sent": {`POST /api/v1/deliveries/retry {"filter":{"state":["sent"]}}`, `{"changed":0}`, "Tried again: 0 deliveries. No delivery matches state sent.\n", ExitFine},
		"retry --all --yes --cause 503":  {`POST /api/v1/deliveries/retry {"filter":{"cause":"503"}}`, `{"changed":0}`, "No delivery matches state failed or timed_out, cause 503.\n", ExitFine},
	} {
		url, calls := server(t, reply{200, want.answer})
		code, out, errOut := run(t, url, "", append([]string{"deliveries"}, strings.Fields(args)...)...)
		c := (*calls)[0]
		if request := c.method + " " + c.path + " " + c.body; code != want.code || !strings.Contains(out, want.out) || request != want.request {
			t.Errorf("%s: %d %q %q\nasked %s", args, code, out, errOut, request)
		}
		if want.code == ExitProblems && !strings.Contains(errOut, "no such delivery, or its state does not allow the change: 4, 6;") {
			t.Errorf("%s: %s", args, errOut)
		}
	}
}

func TestDeliveriesAreChangedByFilter(t *testing.T) {
	t.Parallel()
	found := reply{200, `{"deliveries":[{"id":9},{"id":8}]}`}
	retry := []string{"deliveries", "retry", "--all", "--sink", "sms", "--warehouse", "119240"}
	url, calls := server(t, found, reply{200, `{"changed":20000,"cursor":"5"}`}, reply{200, `{"changed":3}`})
	code, out, errOut := run(t, url, "yes\n", retry...)
	if code != ExitFine || out != "Tried again: 20003 deliveries.\n" || !strings.Contains(errOut, "Retry 2 deliveries (sink sms, state failed or timed_out, warehouse 119240)? [no]: ") {
		t.Errorf("%d %s%s", code, out, errOut)
	}
	if c := *calls; len(c) != 3 || !strings.Contains(c[0].path, "state=failed&state=timed_out") || c[1].body != `{"filter":{"sink":"sms","warehouse":"119240"}}` ||
		c[2].body != `{"filter":{"sink":"sms","warehouse":"119240","after":"5"}}` {
		t.Errorf("asked %v", c)
	}
	for _, said := range []string{"no\n", "\n"} {
		url, calls = server(t, found)
		if code, out, errOut := run(t, url, said, retry...); code != ExitProblems || out != "" || !strings.Contains(errOut, "nothing was changed") || len(*calls) != 1 {
			t.Errorf("%q: %d %s%s", said, code, out, errOut)
		}
	}
	url, _ = server(t, found)
	if code, _, errOut := run(t, url, "", retry...); code != ExitUsage || !strings.Contains(errOut, "the input ended") {
		t.Errorf("no answer: %d %s", code, errOut)
	}
	many := make([]string, 1000)
	for i := range many {
		many[i] = `{"id":` + strconv.Itoa(2000-i) + `}`
	}
	url, _ = server(t, reply{200, `{"deliveries":[` + strings.Join(many, ",") + `],"cursor":"1001"}`})
	if _, _, errOut := run(t, url, "no\n", "deliveries", "cancel", "--all", "--sink", "sms"); !strings.Contains(errOut, "Cancel more than 1000 deliveries (sink sms, state pending)?") {
		t.Errorf("many: %s", errOut)
	}
	// It breaks off: what has been done is told.
	url, _ = server(t, reply{200, `{"changed":20000,"cursor":"5"}`}, reply{503, `{"status":503,"code":"ledger_unavailable","detail":"try again"}`})
	if code, _, errOut := run(t, url, "", append(retry, "--yes")...); code != ExitUnreachable || !strings.Contains(errOut, "20000 deliveries before the error") {
		t.Errorf("%d %s", code, errOut)
	}
}

func TestDeliveriesUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"retry":                   "takes the numbers of deliveries, or --all with a filter",
		"retry --all":             "--all needs at least one filter",
		"retry --all 4":           "or --all, not both",
		"retry 4 --sink sms":      "a filter and --yes work with --all only",
		"retry 4 --cause 503":     "a filter and --yes work with --all only",
		"retry four":              `"four" is not the number of a delivery`,
		"retry 4 --reason x":      "unknown flag: --reason",
		"cancel --all --yes":      "--all needs at least one filter",
		"cancel 4 -- -4":          `"-4" is not the number of a delivery`,
		"list gateway":            "gateway",
		"cancel --all --sink s 3": "or --all, not both",
	} {
		if code, _, errOut := run(t, "http://127.0.0.1:1", "", append([]string{"deliveries"}, strings.Fields(args)...)...); code != ExitUsage || !strings.Contains(errOut, want) {
			t.Errorf("%s: %d %s", args, code, errOut)
		}
	}
}
