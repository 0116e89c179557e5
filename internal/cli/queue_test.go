package cli

import (
	"fmt"
	"strings"
	"testing"

	"tallyman/internal/wire"
)

const queueAnswer = `{"name":"replenishment","ready":19,"assigned":1,"leased":4,"delayed":2,"suspended":12,"stored":3,"dead":1,
"levels":[{"priority":5,"ready":2,"oldest":"2026-06-01T00:10:00Z","oldestSeconds":12.5},{"priority":4,"ready":0},
{"priority":3,"ready":17,"oldest":"2026-05-31T00:10:00Z","oldestSeconds":93784.2},{"priority":2,"ready":0},{"priority":1,"ready":0}],
"paused":true,"pausedBy":"ann","pausedAt":"2026-06-01T00:10:00Z",
"settings":{"timezone":"Asia/Shanghai","lease":"1m","maxAttempts":5,"dedupe":"day","suspendSteps":["2h","12h"]}}`

func TestQueueList(t *testing.T) {
	t.Parallel()
	const empty = `{"name":"picking","levels":[{"priority":5,"ready":0}],"paused":false,"settings":{"suspendSteps":[]}}`
	all := `{"queues":[` + empty + "," + queueAnswer + `]}`
	url, calls := server(t, reply{200, all}, reply{200, all}, reply{200, `{"queues":[]}`})
	code, out, errOut := run(t, url, "", "queue", "list")
	const want = `QUEUE          READY     OLDEST  LEASED  DEAD  PAUSED  SUSPENDED  STORED  DELAYED  ASSIGNED
picking        -         -       0       0     no      0          0       0        0
replenishment  5:2 3:17  1d2h    4       1     yes     12         3       2        1
`
	if code != ExitFine || out != want || errOut != "" {
		t.Errorf("exit code %d, %s\n%s", code, errOut, out)
	}
	if _, out, _ := run(t, url, "", "queue", "list", "--test", "-o", "json"); !strings.Contains(out, `"oldestSeconds": 93784.2`) {
		t.Errorf("JSON: %s", out)
	}
	if (*calls)[0].path != "/api/v1/queues" || (*calls)[1].path != "/api/v1/queues?test=true" {
		t.Errorf("asked %v", *calls)
	}
	if _, out, _ := run(t, url, "", "queue", "list"); !strings.HasPrefix(out, "There is no queue") {
		t.Errorf("no queue: %s", out)
	}
}

func TestQueueShow(t *testing.T) {
	t.Parallel()
	url, calls := server(t, reply{200, queueAnswer})
	code, out, errOut := run(t, url, "", "queue", "show", "replenishment", "--test")
	const want = `replenishment
  paused     since 2026-06-01 00:10:00Z, by ann
  ready      19
  assigned   1  (ready for one worker only)
  leased     4
  delayed    2
  suspended  12
  stored     3
  dead       1  (failed too often)

Ready by priority
  PRIORITY  READY  OLDEST
  5         2      12s
  4         0      -
  3         17     1d2h
  2         0      -
  1         0      -

Settings
  timezone       Asia/Shanghai
  dedupe         day
  lease          1m
  max_attempts   5
  suspend_steps  2h, 12h
`
	if code != ExitFine || out != want || errOut != "" {
		t.Errorf("exit code %d, %s\n%s", code, errOut, out)
	}
	if path := (*calls)[0].path; path != "/api/v1/queues/replenishment?test=true" {
		t.Errorf("asked %s", path)
	}
}

// page is a page of a list whose items are in the state.
func page(state, cursor string, ids ...string) reply {
	items := make([]string, len(ids))
	for i, id := range ids {
		items[i] = fmt.Sprintf(`{"id":%q,"state":%q,"rank":%d,"score":20001780272600123,"priority":3,"payload":{"bin": "A-01", "qty": 12345678901234567890},
			"attempt":2,"failures":1,"suspends":1,"createdAt":"2026-06-01T00:10:00.123Z","readyAt":"2026-06-01T00:10:00.123Z",
			"due":"2026-06-02T00:10:00Z","remainingSeconds":7000,"worker":"packer-7","assignee":"anna"}`, id, state, i+1)
	}
	return reply{200, fmt.Sprintf(`{"items":[%s],"cursor":%q}`, strings.Join(items, ","), cursor)}
}

func TestQueueListOfItems(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		"ready":     "RANK  ITEM  PRIO  PAYLOAD                                    READY SINCE           SCORE\n1     i_a   3     {\"bin\":\"A-01\",\"qty\":12345678901234567890}  2026-06-01 00:10:00Z  20001780272600123\n",
		"assigned":  "RANK  ITEM  PRIO  FOR   PAYLOAD                                    READY SINCE\n1     i_a   3     anna  {\"bin\":\"A-01\",\"qty\":12345678901234567890}  2026-06-01 00:10:00Z\n",
		"leased":    "RANK  ITEM  PRIO  WORKER    ATTEMPT  REMAINING  PAYLOAD                                    LEASE ENDS\n1     i_a   3     packer-7  2        1h56m      {\"bin\":\"A-01\",\"qty\":12345678901234567890}  2026-06-02 00:10:00Z\n",
		"suspended": "RANK  ITEM  PRIO  REMAINING  PAYLOAD                                    READY AT              FOR   SUSPENDS\n1     i_a   3     1h56m      {\"bin\":\"A-01\",\"qty\":12345678901234567890}  2026-06-02 00:10:00Z  anna  1\n",
		"dead":      "RANK  ITEM  PRIO  FAILURES  PAYLOAD                                    DIED\n1     i_a   3     1         {\"bin\":\"A-01\",\"qty\":12345678901234567890}  2026-06-02 00:10:00Z\n",
		"done":      "ITEM  PRIO  PAYLOAD                                    CREATED\ni_a   3     {\"bin\":\"A-01\",\"qty\":12345678901234567890}  2026-06-01 00:10:00Z\n",
	} {
		url, calls := server(t, page(state, "", "i_a"), reply{200, `{"items":[]}`})
		code, out, errOut := run(t, url, "", "queue", "list", "q", "--state", state)
		if code != ExitFine || out != want {
			t.Errorf("%s: exit code %d, %s\n%swant\n%s", state, code, errOut, out, want)
		}
		if path := (*calls)[0].path; path != "/api/v1/queues/q/items?limit=50&state="+state {
			t.Errorf("asked %s", path)
		}
		if _, out, _ := run(t, url, "", "queue", "list", "q", "--state", state); out != "Nothing is "+state+".\n" {
			t.Errorf("%s: %q", state, out)
		}
	}
}

// TestQueueListFits shows that an id is never cut, whatever else has no room.
func TestQueueListFits(t *testing.T) {
	t.Parallel()
	id := "n_" + strings.Repeat("0123456789abcdef", 2)
	for _, columns := range []string{"40", "80"} {
		var b strings.Builder
		writeItems(&b, map[string]int{"40": 40, "80": 80}[columns], "suspended", []wire.ItemForm{{ID: id, Payload: []byte(`{"note":"` + strings.Repeat("x", 300) + `"}`)}})
		told := strings.Contains(b.String(), "left out, because the terminal is too narrow; -o json has everything")
		if !strings.Contains(b.String(), id) || told != (columns == "40") { // at 80 only what says nothing is left out
			t.Errorf("%s columns:\n%s", columns, b.String())
		}
	}
}

func TestQueueListReadsPages(t *testing.T) {
	t.Parallel()
	url, calls := server(t, page("ready", "2.x", "i_a", "i_b"), page("ready", "", "i_c"), page("ready", "2.y", "i_a", "i_b"))
	code, out, _ := run(t, url, "", "queue", "list", "q", "--limit", "0", "-o", "yaml")
	if code != ExitFine || strings.Count(out, "- id: ") != 3 || strings.Contains(out, "cursor") || !strings.Contains(out, "qty: 12345678901234567890\n") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if (*calls)[1].path != "/api/v1/queues/q/items?after=2.x&limit=1000&state=ready" {
		t.Errorf("asked %v", *calls)
	}
	code, out, _ = run(t, url, "", "queue", "list", "q", "--limit", "2", "--after", "9.z")
	if code != ExitFine || !strings.HasSuffix(out, "There are more: --limit 0 lists all, --after 2.y continues.\n") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if (*calls)[2].path != "/api/v1/queues/q/items?after=9.z&limit=2&state=ready" {
		t.Errorf("asked %v", (*calls)[2])
	}
}

func TestQueuePeekAndRank(t *testing.T) {
	t.Parallel()
	url, calls := server(t, page("ready", "1.x", "i_a"), reply{200, `{"items":[]}`}, reply{200, `{"id":"i_a","rank":3,"score":20001780272600123}`})
	const want = "1. i_a  priority 3, ready since 2026-06-01 00:10:00Z\n   {\"bin\":\"A-01\",\"qty\":12345678901234567890}\n"
	if code, out, _ := run(t, url, "", "queue", "peek", "q"); code != ExitFine || out != want {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if _, out, _ := run(t, url, "", "queue", "peek", "q", "--max", "5"); out != "Nothing is ready.\n" {
		t.Errorf("nothing: %s", out)
	}
	if code, out, _ := run(t, url, "", "queue", "rank", "q", "i_a"); code != ExitFine || out != "i_a is number 3 of q; its score is 20001780272600123.\n" {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if (*calls)[0].path != "/api/v1/queues/q/items?limit=1&state=ready" || (*calls)[1].path != "/api/v1/queues/q/items?limit=5&state=ready" ||
		(*calls)[2].path != "/api/v1/queues/q/items/i_a/rank" {
		t.Errorf("asked %v", *calls)
	}
}

// TestQueueWrongUsage has command lines that are refused before anything is asked.
func TestQueueWrongUsage(t *testing.T) {
	t.Parallel()
	url, _ := server(t)
	for line, want := range map[string]string{
		"list a b":                              "accepts at most 1 arg",
		"list --state dead":                     "--state, --warehouse, --limit and --after list the items of a queue: give its name",
		"list q --limit -1":                     "--limit takes the number of items to list",
		"show":                                  "takes QUEUE: QUEUE is missing",
		"show q i x":                            "nothing else",
		"peek q --max 0":                        "--max takes",
		"rank q":                                "ITEM is missing",
		"push q":                                "takes an item with --payload, or a file of items",
		"push":                                  "takes QUEUE",
		"push q file --payload 1":               "takes --payload or a file, not both",
		"push q file --id x":                    "the items of a file have their own id",
		"push q no-such-file":                   "no such file",
		"push q --payload @no-such-file":        "no such file",
		"push q --payload A-01":                 "--payload is not a JSON value",
		"push q --payload 1 --priority 0":       "--priority takes 1 to 5",
		"push q --payload 1 --delay 5":          "5 has no unit: add s, m, h or d",
		"lease q":                               "needs --worker: the name of the worker",
		"lease q --worker w --max 0":            "--max takes 1 to 1000",
		"lease q --worker w --wait soon":        "invalid argument",
		"ack q i":                               "needs --attempt: the number that came with the lease",
		"ack q i --attempt 0":                   "--attempt takes a number from 1 on",
		"ack q i j --attempt 1":                 "nothing else",
		"suspend q i j --attempt 1":             "--attempt belongs to one item, and you gave 2 items",
		"finish q":                              "ITEM is missing",
		"finish q i --attempt 1":                "unknown flag: --attempt",
		"store q i":                             "give the time once",
		"store q i --days 1 --delay 2h":         "give the time once",
		"assign q i":                            "give the worker once",
		"assign q i --anybody --worker w":       "give the worker once",
		"remove q":                              "ITEM is missing",
		"remove q i --state dead":               "nothing else",
		"remove q --state dead":                 "a range takes --state, --from and --to",
		"remove q --from 2 --to 1 --state dead": "a range takes",
		"remove q --from 1 --to 2 --state dead --force": "--force and --note need the ids of items",
		"requeue q":                "ITEM is missing",
		"requeue q i --all":        "nothing else",
		"requeue q --all --note x": "--note needs the ids of items",
		"pause":                    "QUEUE is missing",
		"psh q":                    `did you mean "push"?`,
		"":                         "needs a command: ",
	} {
		code, _, errOut := run(t, url, "", append([]string{"queue"}, strings.Fields(line)...)...)
		if code != ExitUsage || !strings.Contains(errOut, want) || !strings.Contains(errOut, "--help") {
			t.Errorf("%s: exit code %d, %s", line, code, errOut)
		}
	}
}

func TestQueueSettings(t *testing.T) {
	t.Parallel()
	const answer = `{"queue":"q","inForce":{"lease":"2m","maxAttempts":0,"suspendSteps":[]},"configured":{"lease":"1m","maxAttempts":5,"suspendSteps":["2h","12h"]},
		"live":["lease","maxAttempts","suspendSteps"],"by":"user:ann","at":"2026-06-01T00:10:00Z"}`
	const want = `q
  SETTING        IN FORCE  FROM
  lease          2m        set live; the configuration has 1m
  max_attempts   none      set live; the configuration has 5
  suspend_steps  none      set live; the configuration has 2h, 12h
Changed last 2026-06-01 00:10:00Z, by user:ann.
`
	for args, body := range map[string]string{
		"": "",
		"--lease 2m --max-attempts none --suspend-steps none": `{"lease":"2m","maxAttempts":0,"suspendSteps":[]}`,
		"--max-attempts 7 --suspend-steps 1h,2d":              `{"maxAttempts":7,"suspendSteps":["1h","2d"]}`,
		"--lease configured":                                  `{"reset":["lease"]}`,
		"--reset":                                             `{"reset":["lease","maxAttempts","suspendSteps"]}`,
		"--reset --lease 2m":                                  `{"lease":"2m","reset":["maxAttempts","suspendSteps"]}`,
	} {
		method := "POST"
		if body == "" {
			method = "GET"
		}
		url, calls := server(t, reply{200, answer})
		code, out, errOut := run(t, url, "", append([]string{"queue", "settings", "q"}, strings.Fields(args)...)...)
		if code != ExitFine || out != want || errOut != "" {
			t.Errorf("%s: exit code %d, %s\n%s", args, code, errOut, out)
		}
		if (*calls)[0] != (serverCall{method, "/api/v1/queues/q/settings", body}) {
			t.Errorf("%s: asked %v", args, *calls)
		}
	}
	url, calls := server(t)
	for _, most := range []string{"0", "-1", "many"} {
		if code, _, errOut := run(t, url, "", "queue", "settings", "q", "--max-attempts", most); code != ExitUsage || !strings.Contains(errOut, "none or configured") {
			t.Errorf("%s: exit code %d, %s", most, code, errOut)
		}
	}
	if len(*calls) != 0 {
		t.Errorf("asked %v", *calls)
	}
}
