package catalog_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/message"
)

func TestShippedCatalogue(t *testing.T) {
	types, problems := catalog.Load("../../configs/types.yaml")
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	rep := types["REP_NOTICE"]
	want := catalog.Type{
		Code: "REP_NOTICE", ID: 124719, Name: "Replenishment notice", Names: map[string]string{"zh": "补货通知"}, Category: "SUBSCRIBE_TYP", Retention: 72 * time.Hour,
		Fields: map[string]catalog.Field{"bin": {Type: catalog.String, Required: true}, "sku": {Type: catalog.String}, "qty": {Type: catalog.Decimal}, "wave": {Type: catalog.String}},
	}
	if diff := cmp.Diff(want, rep); diff != "" {
		t.Error(diff)
	}
	if got := strings.Join(types.Codes(), " "); got != "COUNT_DIFF LOT_EXPIRY ORDER_LATE PICK_FACE_LOW REP_NOTICE WAVE_STUCK" {
		t.Error(got)
	}
	for _, code := range types.Codes() {
		if types[code].Names["zh"] == "" || len(types[code].Validate()) > 0 {
			t.Errorf("%s: %v", code, types[code].Validate())
		}
	}
}

func TestProblems(t *testing.T) {
	const good = "  - {code: A, id: 1, name: a}\n"
	for src, want := range map[string]string{
		"types: []\n": "",
		"types:\n" + good + "  - {code: B, id: 2, name: b}\n": "",
		"tpyes: []\n": "1:1 unknown_field there is no field \"tpyes\" here; 1:1 missing_field types is missing",
		"types:\n  - {code: a, id: 1, name: a}\n":                                           `2:12 bad_name "a" cannot be the code of a type`,
		"types:\n  - {code: A, id: 0, name: a}\n":                                           "2:19 bad_id 0 cannot be the id of a type",
		"types:\n  - {code: A, id: x, name: a}\n":                                           `2:19 wrong_type id takes a whole number, found the text "x"`,
		"types:\n  - {code: A, name: \"  \"}\n":                                             "2:5 missing_field id is missing",
		"types:\n  - {code: A, id: 1, name: \"  \"}\n":                                      "2:28 missing_field the type has no name",
		"types:\n  - {code: A, id: 1, name: a, retention: 72}\n":                            `2:42 bad_duration retention: "72" is no duration`,
		"types:\n  - {code: A, id: 1, name: a, retention: 1s}\n":                            "2:42 out_of_range retention is 1s, at least 1m is needed",
		"types:\n  - {code: A, id: 1, name: a, names: {Chinese: a}}\n":                      `2:48 bad_name "Chinese" is no language`,
		"types:\n  - {code: A, id: 1, name: a, fields: {q: {type: number}}}\n":              `2:50 unknown_value type cannot be "number"`,
		"types:\n  - {code: A, id: 1, name: a, fields: {q: {required: true}}}\n":            "2:40 missing_field fields.q.type is missing",
		"types:\n  - {code: A, id: 1, name: a, fields: {\"a b\": {type: int}}}\n":           `2:47 bad_name "a b" cannot name a field`,
		"types:\n" + good + "  - {code: A, id: 2, name: b}\n":                               "3:12 duplicate_id the type A is there twice",
		"types:\n" + good + "  - {code: B, id: 1, name: b}\n":                               "3:19 duplicate_id the id 1 belongs to A",
		"types:\n  - {code: b, id: -1, name: a}\n  - {code: C, id: 2, name: c, nmes: {}}\n": `2:12 bad_name "b" cannot be the code of a type; 2:19 bad_id -1 cannot be the id of a type; 3:31 unknown_field there is no field "nmes" here`,
		"types:\n  - {code: TALLYMAN_X, id: 3, name: a}\n":                                  `2:12 reserved_code codes that begin with TALLYMAN_ are Tallyman's own`,
		"types:\n  - {code: A, id: 2000000001, name: a}\n":                                  "2:19 duplicate_id the id 2000000001 belongs to the built-in type TALLYMAN_NO_DATA",
		"types: {\n": "1:8 yaml_syntax a value was expected, and a list in [ ] or map in { } is not closed",
	} {
		t.Run(src, func(t *testing.T) {
			_, problems := catalog.Parse("types.yaml", []byte(src))
			var got []string
			for _, p := range problems {
				got = append(got, fmt.Sprintf("%d:%d %s %s", p.Line, p.Col, p.Code, p.Message))
			}
			if s := strings.Join(got, "; "); s != want {
				t.Errorf("got  %s\nwant %s", s, want)
			}
		})
	}
}

func TestBadTypesLeaveTheOthers(t *testing.T) {
	types, problems := catalog.Parse("types.yaml", []byte("types:\n  - {code: A, id: 1, name: a}\n  - {code: b}\n"))
	if len(problems) == 0 || len(types) != 1 || types["A"].Retention != catalog.DefaultRetention {
		t.Errorf("%v, %v", types, problems)
	}
	if _, problems = catalog.Load(filepath.Join(t.TempDir(), "none.yaml")); len(problems) != 1 || problems[0].Code != "file_unreadable" {
		t.Errorf("%v", problems)
	}
}

func TestJSON(t *testing.T) {
	in := catalog.Type{Code: "A", ID: 1, Name: "a", Retention: 36 * time.Hour, Fields: map[string]catalog.Field{"q": {Type: catalog.Decimal, Required: true}}}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"code":"A","id":1,"name":"a","fields":{"q":{"type":"decimal","required":true}},"retention":"36h"}`
	if string(text) != want {
		t.Errorf("got %s", text)
	}
	var out catalog.Type
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out); diff != "" {
		t.Error(diff)
	}
	if err := json.Unmarshal([]byte(`{"code":"A","id":1,"name":"a","retention":"3d"}`), &out); err != nil || out.Retention != 72*time.Hour || out.Fields != nil {
		t.Errorf("%+v, %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"code":"A"}`), &out); err != nil || out.Retention != catalog.DefaultRetention {
		t.Errorf("%+v, %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"retention":"3 days"}`), &out); err == nil {
		t.Error("3 days pass")
	}
}

// Validate returns every fault of a type that does not come from a file.
func TestValidate(t *testing.T) {
	bad := catalog.Type{Code: "rep", Names: map[string]string{"": "x"}, Retention: time.Second, Fields: map[string]catalog.Field{"q r": {Type: "text"}}}
	var fields []string
	for _, f := range bad.Validate() {
		fields = append(fields, f.Field)
	}
	if got := strings.Join(fields, " "); got != "code id name names. retention fields.q r fields.q r.type" {
		t.Error(got)
	}
}

// The built-in types have no faults except their codes, which other types cannot have.
func TestBuiltIn(t *testing.T) {
	own := catalog.BuiltIn()
	if got := strings.Join(own.Codes(), " "); got != "TALLYMAN_ITEM TALLYMAN_NO_DATA TALLYMAN_RULE_FAILED" {
		t.Error(got)
	}
	for code, built := range own {
		if built.Code != code || !catalog.Reserved(code) || built.Names["zh"] == "" || !built.Fields["rule"].Required && !built.Fields["item"].Required {
			t.Errorf("%+v", built)
		}
		built.Code, built.ID = "OTHER", 1
		if l := built.Validate(); len(l) > 0 {
			t.Errorf("%s: %v", code, l)
		}
	}
}

const words = `types:
  - code: DOCK
    id: 9
    name: Dock
    expires: 4h
    fields: {gate: {type: string, required: true}, weight: {type: decimal}}
    title: {en: "Gate {{ .gate }}", zh: "月台 {{ .gate }}"}
    body: "{{ .weight | round 1 }} kg"
    priority: 4
    modal: popup
    labels: {area: dock}
    deliver: [{sink: inbox}, {sink: sms, strategy: delayed, delay: 10m, retry: 2, unless: read}]
`

// The texts and defaults of a file are equal to those in the JSON of the ledger and of the API.
func TestDefaults(t *testing.T) {
	types, problems := catalog.Parse("types.yaml", []byte(words))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	want := catalog.Type{
		Code: "DOCK", ID: 9, Name: "Dock", Retention: 4 * time.Hour,
		Fields: map[string]catalog.Field{"gate": {Type: catalog.String, Required: true}, "weight": {Type: catalog.Decimal}},
		Defaults: catalog.Defaults{
			Title: message.Texts{"en": "Gate {{ .gate }}", "zh": "月台 {{ .gate }}"}, Body: message.Texts{"": "{{ .weight | round 1 }} kg"},
			Priority: 4, Modal: catalog.ModalPopup, Labels: map[string]string{"area": "dock"},
			Deliver: []deliver.Entry{{Sink: "inbox"}, {Sink: "sms", Strategy: deliver.Delayed, Delay: 10 * time.Minute, Retry: 2, Unless: deliver.UnlessRead}},
		},
	}
	if diff := cmp.Diff(want, types["DOCK"]); diff != "" {
		t.Error(diff)
	}
	text, err := json.Marshal(types["DOCK"])
	var read catalog.Type
	if err != nil || json.Unmarshal(text, &read) != nil {
		t.Fatal(err, string(text))
	}
	if diff := cmp.Diff(want, read); diff != "" {
		t.Error(diff)
	}
}

// A fault of a template has the place of its character. A fault that only a site can show has its place in the file,
// too.
func TestFaultsOfDefaults(t *testing.T) {
	sinks := deliver.Sinks{Types: map[string]string{"inbox": "inbox", "sms": "chat"}, Push: []string{"chat"}}
	for change, want := range map[string]string{
		"Gate {{ .gate→Gate {{ .gat":                      `7:26 unknown_column the type has no field "gat"; did you mean "gate"?`,
		"月台 {{ .gate→月台 {{ .rows":                         `7:48 unknown_column the type has no field "rows"; fields: gate, weight`,
		"Gate {{ .gate }}→Gate {{ .gate":                  `7:23 template_syntax unclosed action`,
		"{{ .weight→{{ .gate":                             `8:23 template_kind round takes a number, not a text`,
		"{{ .weight→{{ range .rows }}{{ .weight":          `8:29 template_syntax the text ends inside`,
		"round 1→rond 1":                                  `template_function there is no helper "rond"`,
		"body: \"{{ .weight | round 1 }} kg\"→body: \"\"": `8:11 missing_field body is empty; write the words, or leave it out`,
		"en: \"→English: \"":                              `7:13 unknown_field "English" in title is no language; a code such as en, zh or pt-BR`,
		"priority: 4→priority: 0":                         `9:15 out_of_range priority is 0, at least 1 is needed`,
		"priority: 4→priority: qty":                       `9:15 wrong_type priority takes a whole number`,
		"modal: popup→modal: loud":                        `10:12 unknown_value modal cannot be "loud"`,
		"area: dock→a b: dock":                            `out_of_range labels.a b: a label is named with letters`,
		"sink: sms→sink: smss":                            `12:37 unknown_sink no sink "smss" is configured; did you mean "sms"?`,
		"sink: sms→sink: inbox":                           `12:37 duplicate_name the notices go to "inbox" already; name each sink once`,
		"delay: 10m→delay: 5h":                            `12:68 delivered_too_late a delay of 5h is not shorter than the life of a notice, which is 4h: every notice would expire before its delivery; make the delay shorter, or let notices live longer with retention`,
		"delay: 10m→when: weight > 5":                     `12:61 unknown_field there is no field "when" in deliver[1]`,
		"expires: 4h→expires: 4h\n    retention: 4h":      `5:14 conflict expires and retention are two words for how long a notice lives; keep one`,
	} {
		before, after, _ := strings.Cut(change, "→")
		if !strings.Contains(words, before) {
			t.Fatal(before)
		}
		_, problems := catalog.Parse("types.yaml", []byte(strings.Replace(words, before, after, 1)), catalog.OnSinks(sinks))
		var got []string
		for _, p := range problems {
			got = append(got, fmt.Sprintf("%d:%d %s %s; %s", p.Line, p.Col, p.Code, p.Message, p.Hint))
		}
		if s := strings.Join(got, "\n"); !strings.Contains(s, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", change, s, want)
		}
	}
}

// For any content of a file of types, nothing panics, all faults have their place in the file, and a sound type binds
// its texts.
func FuzzParse(f *testing.F) {
	f.Add(words)
	f.Add("types:\n  - {code: A, id: 1, name: a, title: {en: \"{{ .q }}\"}, fields: {q: {type: int}}}\n")
	f.Add("types:\n  - {code: A, id: 1, name: a, deliver: [{sink: a, strategy: timed, within: 1s}], labels: {a: b}}\n")
	f.Fuzz(func(t *testing.T, src string) {
		types, problems := catalog.Parse("types.yaml", []byte(src))
		lines := strings.Count(src, "\n") + 1
		for _, p := range problems {
			if p.Line < 0 || p.Line > lines {
				t.Errorf("%s in %d lines", p, lines)
			}
		}
		for _, one := range types {
			if _, faults := one.BindTitle(time.UTC); len(faults) > 0 {
				t.Errorf("%+v: %v", one, faults)
			}
			text, err := json.Marshal(one)
			var read catalog.Type
			if err != nil || json.Unmarshal(text, &read) != nil {
				t.Fatalf("%+v: %s, %v", one, text, err)
			}
			if diff := cmp.Diff(one, read, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		}
	})
}
