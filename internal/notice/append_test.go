package notice_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tallyman/internal/notice"
	"tallyman/internal/text"
)

// TestJSONProperty compares with what encoding/json makes of the form.
func TestJSONProperty(t *testing.T) {
	t.Parallel()
	anything := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a\"\\/\b\f\n\r\t\x00\x1f\x7f\u0085\u202e\u2069<>&\u2028\u2029\ufffd補🦀"))),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	episodes := rapid.OneOf(rapid.SampledFrom([]string{"", "0", "00", "017", "-1", " 1", "1.5", `["2026-06-01T00:10:00Z", 42]`, `"s_1"`, "{", "null"}),
		rapid.StringMatching(`[1-9][0-9]{15}`), anything)
	times := rapid.Custom(func(t *rapid.T) time.Time {
		at := time.UnixMicro(rapid.Int64Range(-4e15, 4e16).Draw(t, "at"))
		return rapid.SampledFrom([]time.Time{at, at.UTC(), at.Truncate(time.Second), {}, time.Unix(1<<40, 0)}).Draw(t, "time")
	})
	rapid.Check(t, func(t *rapid.T) {
		n := draw(t)
		n.Type, n.Title, n.Body, n.Key = anything.Draw(t, "type"), anything.Draw(t, "title"), anything.Draw(t, "body"), anything.Draw(t, "key")
		n.Warehouse, n.Rule, n.Scope = anything.Draw(t, "warehouse"), anything.Draw(t, "rule"), anything.Draw(t, "scope")
		n.Status, n.Modal, n.ID = notice.Status(anything.Draw(t, "status")), anything.Draw(t, "modal"), anything.Draw(t, "id")
		n.Episode, n.TypeID, n.Priority = episodes.Draw(t, "episode"), rapid.Int64().Draw(t, "type id"), rapid.Int().Draw(t, "priority")
		n.CreatedAt, n.ExpiresAt = times.Draw(t, "created"), times.Draw(t, "expires")
		if rapid.Bool().Draw(t, "odd value") {
			n.Data = append(n.Data, notice.Field{Name: anything.Draw(t, "field"), Value: rapid.SampledFrom([]any{1.5, "x", []int{1}, anything.Draw(t, "text")}).Draw(t, "value")})
		}
		if rapid.Bool().Draw(t, "labels") {
			n.Labels = rapid.MapOf(anything, anything).Draw(t, "all labels")
		}
		v := notice.View{Notice: n, Read: rapid.Bool().Draw(t, "read"), Acked: rapid.Bool().Draw(t, "acked")}
		got, err := n.MarshalJSON()
		isEncoded(t, n.Form(), got, err)
		got, err = v.MarshalJSON()
		isEncoded(t, v.Form(), got, err)
	})
}

func isEncoded(t *rapid.T, form any, got []byte, err error) {
	t.Helper()
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	wantErr := e.Encode(form)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("error %v, want %v", err, wantErr)
	}
	if !bytes.Equal(text.EscapeJSON(bytes.TrimSuffix(want.Bytes(), []byte("\n"))), got) {
		t.Fatalf("\nwant %s\ngot  %s", want.Bytes(), got)
	}
}
