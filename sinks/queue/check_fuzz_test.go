package queue

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzPayload holds the check of payloads to what encoding/json takes: what is let in must come out again, and what encoding/json
// takes is to be let in.
func FuzzPayload(f *testing.F) {
	for _, text := range []string{
		`{"n":1,"text":"x"}`, `[]`, `"\u00e9\n"`, `-0.5e+9`, ` null `, ``, ` `, `[-]`, `[-.1]`, `1.`, `01`, `1e`, `--1`, `nul`, `[1,]`, `{"a":1,}`,
		`{"a"}`, `{1:2}`, `[1 2]`, `1 1`, `"\u12"`, `"\ud800"`, `"\'"`, "\"\x01\"", "\"\x7f\"", "\x00", "\v1", "1\f", "\ufeff1", "\"\xff\"",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		if got, want := isJSON(payload), json.Valid(payload); got != want {
			t.Errorf("%q is taken: %t; encoding/json takes it: %t", payload, got, want)
		}
	})
}

// Whoever reads a payload with encoding/json may be stopped by its depth.
func TestPayloadsThatAreTooDeep(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{1, 100, deepest/2 - 1, deepest / 2, deepest, deepest + 1, 3 * deepest} {
		nested := []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
		var into bytes.Buffer
		if got, want := isJSON(nested), json.Compact(&into, nested) == nil; got != want {
			t.Errorf("%d levels are taken: %t; encoding/json takes them: %t", depth, got, want)
		}
	}
}
