package api_test

import (
	"net/http"
	"strings"
	"testing"

	"tallyman/rules/catalog"
)

// typed has a field of each kind.
func typed(b *bundle) {
	b.catalogue.types["FULL"] = catalog.Type{Code: "FULL", ID: 7, Name: "Full", Retention: catalog.DefaultRetention, Fields: map[string]catalog.Field{
		"text": {Type: catalog.String}, "count": {Type: catalog.Int}, "qty": {Type: catalog.Decimal}, "done": {Type: catalog.Bool}, "at": {Type: catalog.Time},
		"key": {Type: catalog.String, Required: true},
	}}
	b.catalogue.types["BARE"] = catalog.Type{Code: "BARE", ID: 8, Name: "Bare", Retention: catalog.DefaultRetention}
}

func TestSendData(t *testing.T) {
	t.Parallel()
	b := setup(t)
	typed(b)
	for data, want := range map[string]any{
		`"text":""`:                             "",
		`"text":"ä < \n"`:                       "ä < \n",
		`"count":9223372036854775807`:           int64(9223372036854775807),
		`"count":-1`:                            int64(-1),
		`"qty":"-3.10"`:                         "-3.10",
		`"qty":-3.10`:                           "-3.10",
		`"qty":12345678901234567890.0123456789`: "12345678901234567890.0123456789",
		`"qty":1e3`:                             "1000",
		`"qty":"1E-20"`:                         "0.00000000000000000001",
		`"done":false`:                          false,
		`"at":"2026-06-01T08:00:00.5+08:00"`:    "2026-06-01T00:00:00.5Z",
		`"at":null`:                             nil,
	} {
		n := b.send(t, `{"type":"FULL","warehouse":"1","data":{"key":"k",`+data+`}}`).Notice
		for _, f := range n.Data {
			if f.Name != "key" && f.Value != want {
				t.Errorf("%s: %#v", data, f.Value)
			}
		}
		if len(n.Data) != 2 {
			t.Errorf("%s: %v", data, n.Data)
		}
	}
}

func TestSendRefusals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	typed(b)
	const rep = `"type":"REP_NOTICE","warehouse":"1"`
	data := func(d string) string { return `{"type":"FULL","warehouse":"1","data":{"key":"k",` + d + `}}` }
	deliver := func(d string) string { return `{` + rep + `,"title":"a","deliver":[{` + d + `}]}` }
	for _, tc := range []struct{ form, code, at, says string }{
		{`{"type":"NONE","warehouse":"1","title":"a"}`, "unknown_type", "type", "no type"},
		{`{"type":"TALLYMAN_NO_DATA","warehouse":"1","title":"a"}`, "type_reserved", "type", "built in"},
		{`{"type":"REP_NOTICE","warehouse":"a b","title":"a"}`, "bad_warehouse", "warehouse", "not the name"},
		{`{"type":"REP_NOTICE","warehouse":"*","title":"a"}`, "bad_warehouse", "warehouse", "not the name"},
		{`{"type":"REP_NOTICE","title":"a"}`, "invalid_body", "", "warehouse"},
		{`{` + rep + `}`, "invalid_body", "data", "says nothing"},
		{`{` + rep + `,"data":{}}`, "invalid_body", "data", "says nothing"},
		{`{` + rep + `,"title":"a","id":"n_1"}`, "invalid_body", "id", "unexpected"},
		{`{` + rep + `,"title":"a","priority":6}`, "invalid_body", "priority", ""},
		{`{` + rep + `,"title":"a","modal":"loud"}`, "invalid_body", "modal", ""},
		{`{` + rep + `,"title":"` + long(501) + `"}`, "invalid_body", "title", ""},
		{`{` + rep + `,"title":"a\u0001"}`, "bad_text", "title", "U+0001"},
		{`{` + rep + `,"body":"a\u0000"}`, "bad_text", "body", "U+0000"},
		{`{` + rep + `,"texts":{"Chinese":{"title":"a"}}}`, "invalid_body", "texts.Chinese", "language"},
		{`{` + rep + `,"title":"a","labels":{"a b":"c"}}`, "invalid_body", "labels.a b", "letters"},
		{`{` + rep + `,"title":"a","labels":{"a":"` + long(501) + `"}}`, "invalid_body", "labels.a", "500"},
		{`{` + rep + `,"title":"a","expires":"soon"}`, "invalid_body", "expires", "duration"},
		{`{` + rep + `,"title":"a","expires":"0s"}`, "invalid_body", "expires", "3650d"},
		{`{` + rep + `,"title":"a","recipients":["ann"]}`, "bad_subscriber", "recipients[0]", "neither"},
		{`{` + rep + `,"title":"a","recipients":["user:1"],"deliver":[{"sink":"replenishment"}]}`, "invalid_body", "recipients", "no sink of the notice has recipients"},
		{`{` + rep + `,"title":"a","order":"soon"}`, "invalid_body", "order", "neither a number"},
		{`{` + rep + `,"data":{"qty":1}}`, "invalid_body", "data.bin", "type REP_NOTICE needs this field"},
		{`{` + rep + `,"data":{"bin":null}}`, "invalid_body", "data.bin", "type REP_NOTICE needs this field"},
		{`{` + rep + `,"data":{"bin":"A","qtty":1}}`, "invalid_body", "data.qtty", "did you mean \"qty\""},
		{`{` + rep + `,"data":{"bin":"A","colour":1}}`, "invalid_body", "data.colour", "it has bin, qty"},
		{`{"type":"BARE","warehouse":"1","data":{"bin":"A"}}`, "invalid_body", "data.bin", "has no fields"},
		{data(`"text":5`), "invalid_body", "data.text", "quotes"},
		{data(`"text":"` + long(16385) + `"`), "invalid_body", "data.text", "16384"},
		{data(`"text":"\u001b"`), "bad_text", "data.text", "U+001B"},
		{data(`"count":1.5`), "invalid_body", "data.count", "whole number"},
		{data(`"count":"1"`), "invalid_body", "data.count", "whole number"},
		{data(`"count":9223372036854775808`), "invalid_body", "data.count", "whole number"},
		{data(`"qty":"twelve"`), "invalid_body", "data.qty", "decimal"},
		{data(`"qty":"NaN"`), "invalid_body", "data.qty", "decimal"},
		{data(`"qty":true`), "invalid_body", "data.qty", "decimal"},
		{data(`"qty":"1e999999999"`), "invalid_body", "data.qty", "decimal"},
		{data(`"qty":"1e1001"`), "invalid_body", "data.qty", "digits"},
		{data(`"qty":"` + strings.Repeat("7", 1001) + `"`), "invalid_body", "data.qty", "digits"},
		{data(`"done":"true"`), "invalid_body", "data.done", "true or false"},
		{data(`"at":"yesterday"`), "invalid_body", "data.at", "RFC 3339"},
		{data(`"at":1780272600000`), "invalid_body", "data.at", "RFC 3339"},
		{data(`"text":{"a":1}`), "invalid_body", "data.text", "quotes"},

		{deliver(`"sink":"outbox"`), "unknown_sink", "deliver[0].sink", "there are gateway, inbox, letters, replenishment"},
		{deliver(`"sink":"inbox"},{"sink":"inbox"`), "invalid_body", "deliver[1].sink", "once"},
		{deliver(`"sink":"inbox","strategy":"delayed","delay":"1m"`), "strategy_not_for_sink", "deliver[0].strategy", "inbox is an inbox"},
		{deliver(`"sink":"replenishment","strategy":"timed","within":"1m"`), "strategy_not_for_sink", "deliver[0].strategy", "is a queue"},
		{deliver(`"sink":"inbox","unless":"read"`), "strategy_not_for_sink", "deliver[0].strategy", "leave them out"},
		{deliver(`"sink":"gateway","strategy":"soon"`), "invalid_body", "deliver[0].strategy", ""},
		{deliver(`"sink":"gateway","delay":"1m"`), "invalid_body", "deliver[0].delay", "only strategy delayed uses this field"},
		{deliver(`"sink":"gateway","strategy":"important","retry":1`), "invalid_body", "deliver[0].retry", "only strategy delayed uses this field"},
		{deliver(`"sink":"gateway","strategy":"timed","within":"1m","unless":"read"`), "invalid_body", "deliver[0].unless", "only strategy delayed uses this field"},
		{deliver(`"sink":"gateway","strategy":"timed","within":"1m","until":"sent"`), "invalid_body", "deliver[0].until", "only strategy important uses this field"},
		{deliver(`"sink":"gateway","strategy":"important","until":"read"`), "invalid_body", "deliver[0].until", ""},
		{deliver(`"sink":"inbox","strategy":"important","until":"sent"`), "strategy_not_for_sink", "deliver[0].strategy", "leave them out"},
		{deliver(`"sink":"gateway","within":"1m"`), "invalid_body", "deliver[0].within", "only strategy timed uses this field"},
		{deliver(`"sink":"gateway","strategy":"delayed"`), "invalid_body", "deliver[0].delay", "delay or at"},
		{deliver(`"sink":"gateway","strategy":"delayed","delay":"1m","at":"2026-06-01T09:00:00Z"`), "invalid_body", "deliver[0].at", "give one of the two"},
		{deliver(`"sink":"gateway","strategy":"delayed","delay":"-1m"`), "invalid_body", "deliver[0].delay", "negative"},
		{deliver(`"sink":"gateway","strategy":"delayed","delay":"367d"`), "invalid_body", "deliver[0].delay", "366d"},
		{deliver(`"sink":"gateway","strategy":"delayed","delay":"73h"`), "invalid_body", "deliver[0].delay", "expires after 72h"},
		{deliver(`"sink":"gateway","strategy":"delayed","at":"tomorrow"`), "invalid_body", "deliver[0].at", "RFC 3339"},
		{deliver(`"sink":"gateway","strategy":"delayed","at":"2028-06-01T09:00:00Z"`), "invalid_body", "deliver[0].at", "366d"},
		{deliver(`"sink":"gateway","strategy":"delayed","delay":"1m","retry":101`), "invalid_body", "deliver[0].retry", ""},
		{deliver(`"sink":"gateway","strategy":"delayed","delay":"1m","unless":"resolved"`), "invalid_body", "deliver[0].unless", ""},
		{deliver(`"sink":"gateway","strategy":"timed"`), "invalid_body", "deliver[0].within", "needs within"},
		{deliver(`"sink":"gateway","strategy":"timed","within":"31d"`), "invalid_body", "deliver[0].within", "30d"},
		{deliver(`"sink":"gateway","strategy":"timed","within":"half an hour"`), "invalid_body", "deliver[0].within", "duration"},
	} {
		got := b.do(t, http.MethodPost, sendPath, `{"notices":[{`+rep+`,"title":"good"},`+tc.form+`]}`)
		p := got.asProblem(t)
		if got.status != http.StatusUnprocessableEntity || p.Code != tc.code || !strings.Contains(got.body, `"location":"body.notices[1].`+tc.at) && tc.at != "" || !strings.Contains(p.Detail, tc.says) {
			t.Errorf("%.120s: %d %.300s, want %s at %s", tc.form, got.status, got.body, tc.code, tc.at)
		}
	}
	if len(b.sends.all()) != 0 {
		t.Errorf("of refused requests %d notices were sent", len(b.sends.all()))
	}
	// The answer has all faults, up to a bound.
	got := b.do(t, http.MethodPost, sendPath, one(strings.Repeat(`{"type":"NONE","warehouse":"a b","title":"a"},`, 80)+`{"type":"NONE","warehouse":"1","title":"a"}`))
	if n := strings.Count(got.body, `"location"`); n != 100 || !strings.Contains(got.body, "and 61 more") {
		t.Errorf("%d faults: %.300s", n, got.body)
	}
}
