package cli

import (
	"strings"
	"testing"
)

func TestTypesList(t *testing.T) {
	t.Parallel()
	const types = `{"types":[
	{"code":"COUNT_DIFF","id":124724,"name":"Stock count difference","names":{"zh":"盘点差异"},"category":"STOCK","retention":"24h","fields":{"bin":{"type":"string","required":true}}},
	{"code":"REP_NOTICE","id":124719,"name":"补货通知","retention":"72h"}]}`
	url, calls := server(t, reply{200, types}, reply{200, `{"types":[]}`}, reply{200, types}, reply{503, `{"title":"Service Unavailable","status":503,"detail":"the ledger did not answer","code":"ledger_unavailable"}`})
	for _, want := range []string{`TYPE        ID      CATEGORY  RETENTION  NAME
COUNT_DIFF  124724  STOCK     24h        Stock count difference
REP_NOTICE  124719  -         72h        补货通知
`, "The catalogue is empty.\n"} {
		if code, out, errOut := run(t, url, "", "types", "list"); code != ExitFine || out != want {
			t.Errorf("%d %s\n%s\nwant\n%s", code, errOut, out, want)
		}
	}
	if code, out, errOut := run(t, url, "", "types", "list", "-o", "json"); code != ExitFine || !strings.Contains(out, `"names":`) || !strings.Contains(out, "盘点差异") {
		t.Errorf("%d %s\n%s", code, errOut, out)
	}
	if code, out, errOut := run(t, url, "", "types", "list"); code == ExitFine || out != "" || !strings.Contains(errOut, "the ledger did not answer") {
		t.Errorf("%d %s\n%s", code, errOut, out)
	}
	if got := (*calls)[0]; got.method != "GET" || got.path != "/api/v1/types" {
		t.Errorf("%+v", got)
	}
}
