package queue

import (
	"encoding/json"
	"strings"
	"testing"
)

var jsonSamples = []string{
	``, ` `, `{}`, `[]`, `{"a":1}`, ` {"a" : [1, -2.5e+3, 0, "x\u00e9\n\"", true, false, null] } `, `"`, `"\u12g4"`, `"\x"`, "\"\n\"", `"\`, `"\u1`,
	`01`, `-`, `-0`, `0.`, `0.1`, `1e`, `1E-`, `1e5`, `.5`, `+1`, `1 2`, `[1,]`, `[,1]`, `[1 2]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{"a":1]`, `[1}`,
	`tru`, `nulll`, `true false`, `[`, `{`, `{"a`, "\"\xff\"", `[[[{"a":[{}]}]]]`, "\t1\r\n", "\v1", `{"a":1,"a":2}`,
}

func TestValidJSONSaysWhatEncodingJSONSays(t *testing.T) {
	t.Parallel()
	samples := jsonSamples
	for _, depth := range []int{maxNesting, maxNesting + 1} {
		samples = append(samples, strings.Repeat("[", depth)+strings.Repeat("]", depth), strings.Repeat(`{"":`, depth)+"1"+strings.Repeat("}", depth))
	}
	valid := 0
	for _, s := range samples {
		want := json.Valid([]byte(s))
		if want {
			valid++
		}
		if got := validJSON([]byte(s)); got != want {
			t.Errorf("validJSON(%.40q) is %v, want %v", s, got, want)
		}
	}
	if valid == 0 || valid == len(samples) {
		t.Errorf("%d of %d samples are valid: that proves nothing", valid, len(samples))
	}
}

func FuzzValidJSON(f *testing.F) {
	for _, s := range jsonSamples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := validJSON(b), json.Valid(b); got != want {
			t.Fatalf("validJSON(%q) is %v, want %v", b, got, want)
		}
	})
}

func BenchmarkValidJSON(b *testing.B) {
	payload := []byte(`{"bin":"A-01-07","sku":"4006381333931","qty":"-3.50","task":{"from":"B-17","to":"A-01-07","units":12},"note":"` +
		strings.Repeat("x", 200) + `"}`)
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			validJSON(payload)
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		for b.Loop() {
			json.Valid(payload)
		}
	})
}
