package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tallyman/rules"
	"tallyman/rules/catalog"
)

// ruleWith makes a rule with these fields. The fields need not load from a file.
func ruleWith(warehouse, scope string) *rules.Rule {
	return &rules.Rule{
		ID: "neg", Scope: scope, Title: "Negative stock", Schedule: rules.Schedule{Timezone: "Asia/Shanghai"},
		Notice: rules.Notice{Warehouse: warehouse, Modal: rules.ModalPopup},
	}
}

func TestAlertWarehouse(t *testing.T) {
	for _, c := range []struct {
		warehouse, scope, want string
	}{
		{"", "119240", "119240"},
		{"", "", ""},
		{"wh_id", "119240", "119240"},
		{"wh_id", "", ""},
		{`"W7"`, "119240", "W7"},
		{"119241", "", "119241"},
		{`"W" + string(3 + 4)`, "", "W7"},
		{`"north hall"`, "", ""},
		{`now().Format("2006")`, "", ""},
		{"rows[0].wh_id", "", ""},
		{"wh_id +", "", ""},
	} {
		got, ok := ruleWith(c.warehouse, c.scope).AlertWarehouse()
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%q in scope %q: %q, %v", c.warehouse, c.scope, got, ok)
		}
	}
}

func TestAlertDraft(t *testing.T) {
	r := ruleWith("", "119240")
	since := time.Date(2026, 6, 1, 0, 10, 0, 0, time.UTC)
	show := func(d *rules.NoticeDraft) string {
		var fields []string
		for _, f := range d.Fields {
			fields = append(fields, fmt.Sprintf("%s=%s", f.Name, f.Value))
		}
		return fmt.Sprintf("%s %s %d %s %s %s", d.Type.Code, d.Warehouse, d.Priority, d.Modal, d.Expires, strings.Join(fields, " "))
	}
	d := rules.AlertDraft(r, rules.AlertNoData, "", "", since)
	if got, want := show(d), "TALLYMAN_NO_DATA 119240 4 popup 72h0m0s rule=neg scope=119240 since=2026-06-01T00:10:00Z"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := d.Texts[""], (rules.Text{
		Title: "No data: Negative stock",
		Body:  "The probe of rule neg in 119240 has returned no rows since 2026-06-01 08:10 Asia/Shanghai. Its earlier findings stay as they are.",
	}); got != want || d.Texts["en"] != want {
		t.Errorf("%+v", got)
	}
	if got, want := d.Texts["zh"], (rules.Text{
		Title: "无数据：Negative stock",
		Body:  "自 2026-06-01 08:10 Asia/Shanghai 起，规则 neg（119240）的探测没有返回任何行。之前的发现项保持原样。",
	}); got != want {
		t.Errorf("%+v", got)
	}

	r.Notice.Expires, r.Title, r.Schedule.Timezone = time.Hour, "", "UTC"
	d = rules.AlertDraft(r, rules.AlertOnError, "probe_timeout", "canceled\x00 after 10s", since)
	if got, want := show(d), "TALLYMAN_RULE_FAILED 119240 4 popup 1h0m0s code=probe_timeout error=canceled\x00 after 10s rule=neg scope=119240 since=2026-06-01T00:10:00Z"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := d.Texts[""], (rules.Text{
		Title: "Rule fails: neg",
		Body:  "Rule neg in 119240 has failed since 2026-06-01 00:10 UTC. Its earlier findings stay as they are.\nprobe_timeout: canceled\x00 after 10s",
	}); got != want {
		t.Errorf("%+v", got)
	}
	if got := d.Texts["zh"]; got.Title != "规则运行失败：neg" || !strings.HasSuffix(got.Body, "probe_timeout: canceled\x00 after 10s") {
		t.Errorf("%+v", got)
	}
}

// A notice carries only the beginning of a long error.
func TestAlertDraftCutsTheError(t *testing.T) {
	d := rules.AlertDraft(ruleWith("", "W"), rules.AlertOnError, "probe_failed", strings.Repeat("长", 10_000), time.Unix(0, 0))
	for lang, text := range d.Texts {
		if len(text.Body) > 1000 || !strings.HasSuffix(text.Body, "长…") || !utf8.ValidString(text.Body) {
			t.Errorf("%s: %d bytes, %q", lang, len(text.Body), text.Body[len(text.Body)-10:])
		}
	}
	for _, f := range d.Fields {
		if len(f.Value.Text()) > 500 {
			t.Errorf("%s has %d bytes", f.Name, len(f.Value.Text()))
		}
	}
}

// A notice about a rule has the fields of its type, and each field has the kind that the type asks for.
func TestAlertsFitTheirTypes(t *testing.T) {
	for kind, code := range map[string]string{rules.AlertNoData: catalog.NoData, rules.AlertOnError: catalog.RuleFailed} {
		d := rules.AlertDraft(ruleWith("", "W"), kind, "c", "e", time.Unix(0, 0))
		own := catalog.BuiltIn()[code]
		if d.Type.Code != code || len(d.Fields) != len(own.Fields) {
			t.Errorf("%s: %s with %d fields", kind, d.Type.Code, len(d.Fields))
		}
		kinds := map[catalog.FieldKind]string{catalog.String: "text", catalog.Time: "time"}
		for _, f := range d.Fields {
			if want := kinds[own.Fields[f.Name].Type]; f.Value.Kind().String() != want {
				t.Errorf("%s is %s, want %s", f.Name, f.Value.Kind(), want)
			}
		}
	}
}
