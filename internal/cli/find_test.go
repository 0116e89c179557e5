package cli

import (
	"strings"
	"testing"

	"tallyman/internal/wire"
)

func TestFoundTables(t *testing.T) {
	t.Parallel()
	found := decode[wire.FoundForm](t, apiAnswer(t, "found.json"))
	found.More = []string{"notices", "items"}
	var b strings.Builder
	writeFound(&b, 120, &found, someTime)
	const want = `NOTICE IS  PRIORITY  TITLE             WAREHOUSE  AGE  NOTICE
firing     3         Bin A-01 is at -3  119240     30s  n_abc
FINDING IS  RULE                KEY         SCOPE   AGE    NOTICE
firing      negative-bin-stock  ["A-01"]    119240  1m30s  n_1
pending     short-pick          ["A-01",7]  119240  30s
ITEM IS  PRIORITY  QUEUE          KEY   WAREHOUSE  AGE  ITEM
leased   4         replenishment  A-01  119240     30s  i_1
There may be more notices, items.
`
	if got := strings.Join(strings.Fields(b.String()), " "); got != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%s", b.String())
	}
	var none strings.Builder
	if writeFound(&none, 80, &wire.FoundForm{}, someTime); none.String() != "Nothing contains this text.\n" {
		t.Error(none.String())
	}
}

func TestFindAsksTheServer(t *testing.T) {
	t.Parallel()
	url, calls := server(t, reply{200, `{"notices":[],"findings":[],"items":[],"more":[]}`})
	code, out, _ := run(t, url, "", "find", "A-01 b", "--warehouse", "119240")
	if code != 0 || out != "Nothing contains this text.\n" {
		t.Errorf("%d %s", code, out)
	}
	if got := (*calls)[0].path; got != "/api/v1/find?q=A-01+b&warehouse=119240" {
		t.Errorf("asked for %s", got)
	}
}
