package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"tallyman/internal/wire"
)

const whyAnswer = `{"rule":"negative-bin-stock","scope":"119240","title":"Negative bin stock","key":"[119240,\"A-01\"]","asked":"2026-06-01T00:20:00Z",
"state":"firing","since":"2026-06-01T00:10:00Z",
"finding":{"episode":"1780272600000000","openedAt":"2026-06-01T00:10:00Z","firingSince":"2026-06-01T00:10:00Z","priority":3,"lastNotified":"2026-06-01T00:10:00Z","told":1,
"row":[{"name":"bin_code","value":"A-01"},{"name":"qty","value":"-3"}],"rowDue":"2026-06-01T00:10:00Z"},
"look":{"answered":true,"rows":1,"found":true,"match":false,"row":[{"name":"bin_code","value":"A-01"},{"name":"qty","value":null}],
"condition":[{"text":"qty < 0 and open","depth":0,"outcome":"null"},{"text":"qty < 0","depth":1,"outcome":"null"},{"text":"open","depth":1,"outcome":"error","fault":"no bool"}]},
"held":[{"code":"no_match","text":"the row does not meet the condition"},{"code":"repeat","text":"the last notice was made"}],
"next":{"what":"resolves","due":"2026-06-01T00:25:00Z","at":"2026-06-01T00:25:05Z"},
"told":[{"id":"n_a","status":"firing","type":"REP_NOTICE","warehouse":"119240","title":"Bin A-01 is at -3","priority":3,"key":"[119240,\"A-01\"]","count":1,
"createdAt":"2026-06-01T00:10:00Z","deliveries":[{"sink":"inbox","state":"sent","attempts":1,"sentAt":"2026-06-01T00:10:01Z","recipients":["role:keeper","user:1"]},
{"sink":"gateway","state":"failed","attempts":3,"error":"a 400"},
{"sink":"sms","state":"pending","attempts":1,"next":"2026-06-01T00:19:00Z"},{"sink":"mail","state":"pending","attempts":0,"next":"2026-06-01T00:21:00Z"}]},
{"id":"n_b","status":"firing","title":"2 more","key":"[\"digest\",\"119240\"]","count":2,"createdAt":"2026-05-31T00:10:00Z","deliveries":[]}],"more":true}`

const whyShown = `negative-bin-stock in 119240: Negative bin stock
  key    [119240,"A-01"]
  state  firing since 2026-06-01 00:10:00Z, notified once, last at 2026-06-01 00:10:00Z with priority 3
  next   the finding resolves at 2026-06-01 00:25:05Z, if the row stays away

Row
  COLUMN    RECORDED 2026-06-01 00:10:00Z  NOW
  bin_code  A-01                           A-01
  qty       -3                             NULL

Condition
  PART              NOW
  qty < 0 and open  null
    qty < 0         null
    open            error: no bool

Held back
  no_match  the row does not meet the condition
  repeat    the last notice was made

Notices
  2026-06-01 00:10:00Z  firing    Bin A-01 is at -3
                                  inbox: sent at 2026-06-01 00:10:01Z, to role:keeper user:1
                                  gateway: failed, 3 attempts: a 400
                                  sms: pending, 1 attempt, due since 2026-06-01 00:19:00Z
                                  mail: pending, next at 2026-06-01 00:21:00Z
  2026-05-31 00:10:00Z  firing    2 more (with others: ["digest","119240"])
                                  no delivery
  and older ones
`

func TestRulesWhy(t *testing.T) {
	t.Parallel()
	url, calls := server(t, reply{200, whyAnswer}, reply{200, whyAnswer})
	code, out, errOut := run(t, url, "", "rules", "why", "negative-bin-stock", "119240,A-01", "--scope", "119240", "--look=false")
	if code != ExitFine || out != whyShown {
		t.Errorf("exit code %d, %s\n%s", code, errOut, out)
	}
	if want := (serverCall{"GET", "/api/v1/rules/negative-bin-stock/why?key=119240%2CA-01&look=false&scope=119240", ""}); (*calls)[0] != want {
		t.Errorf("asked %+v", (*calls)[0])
	}
	_, out, _ = run(t, url, "", "rules", "why", "negative-bin-stock", "119240,A-01", "-o", "json")
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(out)); err != nil || compact.String() != strings.ReplaceAll(whyAnswer, "\n", "") {
		t.Errorf("JSON: %s, %v", compact.String(), err)
	}
}

func TestRulesWhyOfNothing(t *testing.T) {
	t.Parallel()
	const nothing = `{"rule":"r","scope":"","key":"[\"A-1\"]","state":"none","held":[],"told":[],"alike":["[\"A-01\"]"],
		"look":{"answered":false,"reason":"source_unreachable: no route","found":false}}`
	url, _ := server(t, reply{200, nothing}, reply{404, `{"code":"rule_not_found","detail":"there is no rule \"x\"; did you mean \"y\"?"}`}, reply{200, `[]`})
	code, out, _ := run(t, url, "", "rules", "why", "r", "A-1")
	if code != ExitProblems || !strings.Contains(out, "nothing is known of this key") || !strings.Contains(out, "\n  [\"A-01\"]\n") ||
		!strings.Contains(out, "the source was not asked: source_unreachable: no route") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	code, _, errOut := run(t, url, "", "rules", "why", "x", "1")
	if code != ExitProblems || !strings.Contains(errOut, `did you mean "y"?`) {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	if code, _, _ := run(t, url, "", "rules", "why", "x", "1"); code != ExitUnreachable {
		t.Errorf("an answer that is none: exit code %d", code)
	}
	if code, _, _ := run(t, url, "", "rules", "why", "x"); code != ExitUsage {
		t.Errorf("no key: exit code %d", code)
	}
}

func TestWhyStates(t *testing.T) {
	t.Parallel()
	for what, want := range map[string]string{
		"fires": "the finding fires at", "event": "the notice of the row follows at", "reminder": "the next notice follows at", "resolves": "the finding resolves at", "dropped": "without a notice",
	} {
		var form wire.WhyForm
		if err := json.Unmarshal([]byte(`{"state":"pending","since":"2026-06-01T00:10:00Z","finding":{},"next":{"what":"`+what+`"},
			"lastRun":{"outcome":"ok","rows":1}}`), &form); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		writeWhy(&out, 100, &form)
		if !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "ok, 1 row, 0 matched") {
			t.Errorf("%s: %s", what, out.String())
		}
	}
}

func TestRulesPromote(t *testing.T) {
	t.Parallel()
	const promoted = `{"promotions":[{"rule":"r","scope":"119240","promoted":"2026-06-01T00:10:00Z","by":"ann"}]}`
	url, calls := server(t, reply{200, promoted}, reply{409, `{"code":"rule_not_shadow","detail":"the rule is not in shadow: r"}`})
	code, out, _ := run(t, url, "", "rules", "promote", "r", "--scope", "119240")
	if code != ExitFine || out != "r in 119240 is promoted since 2026-06-01T00:10:00Z (ann).\n" {
		t.Errorf("exit code %d: %s", code, out)
	}
	if want := (serverCall{"POST", "/api/v1/rules/r/promote?scope=119240", ""}); (*calls)[0] != want {
		t.Errorf("asked %+v", (*calls)[0])
	}
	if code, _, errOut := run(t, url, "", "rules", "promote", "r"); code != ExitProblems || !strings.Contains(errOut, "rule_not_shadow") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
}
