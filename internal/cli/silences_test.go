package cli

import (
	"strings"
	"testing"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

func TestSilencesTable(t *testing.T) {
	t.Parallel()
	list := decode[wire.SilencesForm](t, apiAnswer(t, "silences.json"))
	var wide, narrow strings.Builder
	writeSilences(&wide, 200, &list, someTime)
	writeSilences(&narrow, 80, &list, someTime)
	const want = `SILENCE      STATE    MATCHERS                                                   WHEN                        HOLDS                                         COMMENT    BY
s_stocktake  active   rule=negative-bin-stock warehouse=~1192.* area!=inbound    ends in 1h49m               3 findings, 2 deliveries, 4 events dropped    stocktake  user:ann
s_weekly     pending  warehouse=119240                                           begins in 5d13h             -                                             -          user:ann
s_ended      expired  type=REP_NOTICE                                            ended 2026-06-01 00:10:00Z  -                                             -          user:ann
warning: silence s_stocktake: silence_without_effect: rule=negative-bin-stock matches no rule, type or warehouse that is known here
warning: silence s_weekly: silence_without_effect: warehouse=119240 matches no rule, type or warehouse that is known here
`
	if got := strings.Join(strings.Fields(wide.String()), " "); got != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%s", wide.String())
	}
	for line := range strings.Lines(narrow.String()) {
		if terminal.CellWidth(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("too wide: %s", line)
		}
	}
	var none strings.Builder
	if writeSilences(&none, 80, &wire.SilencesForm{}, someTime); none.String() != "No silences match.\n" {
		t.Error(none.String())
	}
}

func TestOneSilence(t *testing.T) {
	t.Parallel()
	list := decode[wire.SilencesForm](t, apiAnswer(t, "silences.json"))
	var b strings.Builder
	for i := range list.Silences {
		writeSilence(&b, 100, &list.Silences[i], someTime)
	}
	const want = `Silence s_stocktake: active
  matchers  rule=negative-bin-stock
            warehouse=~1192.*
            area!=inbound
  from      2026-06-01 00:00:00Z
  until     2026-06-01 02:00:00Z (in 1h49m)
  active    until 2026-06-01 02:00:00Z (in 1h49m)
  holds     3 findings, 2 deliveries, 4 events dropped
  comment   stocktake
  added     2026-06-01 00:00:00Z by user:ann
Silence s_weekly: pending
  matchers  warehouse=119240
  from      2026-06-01 00:00:00Z
  window    0 22 * * 6 (Asia/Shanghai), open for 8h
  active    from 2026-06-06 14:00:00Z (in 5d13h)
  added     2026-06-01 00:00:00Z by user:ann
Silence s_ended: expired
  matchers  type=REP_NOTICE
  from      2026-06-01 00:00:00Z
  until     2026-06-01 01:00:00Z (in 49m30s)
  added     2026-06-01 00:00:00Z by user:ann
  ended     2026-06-01 00:10:00Z by user:bob
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

func TestSilencesUsage(t *testing.T) {
	t.Parallel()
	url, _ := server(t)
	for args, want := range map[string]string{
		"add":                              "takes at least one MATCHER",
		"add rule=x":                       "needs an end",
		"add rule=x --duration 8h":         "--cron says when the window opens",
		"add rule=x --cron @daily":         "--duration is missing",
		"add rule=x --for 2h --until noon": "--for or --until, not both",
		"add rule=x --for 2h --from noon":  "--from takes a time such as",
		"list --all --state active":        "--all or --state, not both",
		"show":                             "SILENCE is missing",
	} {
		code, _, errOut := run(t, url, "", append([]string{"silences"}, strings.Fields(args)...)...)
		if code != ExitUsage || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit code %d, %s", args, code, errOut)
		}
	}
}
