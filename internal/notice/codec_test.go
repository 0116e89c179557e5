package notice_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tallyman/internal/notice"
)

// sample is the notice that the documents show.
func sample() *notice.Notice {
	created := time.Date(2026, 6, 1, 0, 10, 0, 0, time.UTC)
	return &notice.Notice{
		ID: "n_aaaaaaaaaaaaaaaaaaaaaaaaaa", Type: "REP_NOTICE", TypeID: 124719, Warehouse: "119240",
		Rule: "negative-bin-stock", Scope: "119240", Key: `[119240,"A-01","S1"]`, Episode: "1780272600000000",
		Status: notice.Firing, Priority: 3, Modal: "popup", Title: "Bin A-01 is at -3",
		Body:   "S1 in A-01 went to -3 in wave 77. Replenish it.",
		Data:   []notice.Field{{Name: "bin", Value: "A-01"}, {Name: "sku", Value: "S1"}, {Name: "qty", Value: "-3"}},
		Labels: map[string]string{"area": "replenishment"}, Count: 1,
		CreatedAt: created, ExpiresAt: created.Add(24 * time.Hour),
	}
}

// odd has every value that could cause trouble in a format.
func odd() *notice.Notice {
	n := sample()
	n.Episode = `["2026-06-01T00:10:00Z",42]`
	n.Status, n.Modal = notice.Event, "silent"
	n.Title = "a < b & \"c\" \x01 \u2028 补货 \ufffe"
	n.Body = "line\n\ttab\r]]>"
	n.Texts = map[string]notice.Text{"zh": {Title: "补货", Body: "到 -3"}, "de": {Title: "Nachfüllen"}}
	n.Data = []notice.Field{
		{Name: "none", Value: nil},
		{Name: "empty", Value: ""},
		{Name: "count", Value: int64(-7)},
		{Name: "big", Value: int64(1<<63 - 1)},
		{Name: "ok", Value: true},
	}
	n.Labels = map[string]string{"area": "x<y", "two words": "z", "xmlish": "reserved"}
	n.CreatedAt = n.CreatedAt.Add(123456 * time.Microsecond)
	n.ExpiresAt = n.CreatedAt.Add(1500 * time.Millisecond)
	return n
}

func TestMarshalRoundTrip(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]*notice.Notice{"sample": sample(), "odd": odd(), "small": {ID: "n_1"}} {
		data, err := notice.MarshalFor(n, []string{"role:k", "user:1"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := notice.Unmarshal(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(n, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		to, err := notice.Recipients(data)
		if err != nil || cmp.Diff([]string{"role:k", "user:1"}, to) != "" {
			t.Errorf("%s: recipients %v, %v", name, to, err)
		}
	}
}

func TestMarshalRepairsUTF8(t *testing.T) {
	t.Parallel()
	n := sample()
	n.Title, n.Data[0].Value, n.Labels["area"] = "bin \xff", "\xc3(", "\xfe"
	data, err := notice.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	got, err := notice.Unmarshal(data)
	if err != nil {
		t.Fatal(err)
	}
	if got.Title != "bin \ufffd" || got.Data[0].Value != "\ufffd(" || got.Labels["area"] != "\ufffd" {
		t.Errorf("got %q, %q, %q", got.Title, got.Data[0].Value, got.Labels["area"])
	}
}

func TestMarshalRefusesOtherValues(t *testing.T) {
	t.Parallel()
	n := sample()
	n.Data[0].Value = 3.5
	if _, err := notice.Marshal(n); err == nil {
		t.Error("a float was taken as a field value")
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{"empty": nil, "no id": {0x12, 1, 'x'}, "cut": {0x0a, 9, 'n'}, "bad tag": {0xff}} {
		if _, err := notice.Unmarshal(data); !errors.Is(err, notice.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, data := range map[string][]byte{
		"bad tag": {0xff}, "cut recipient": {0xa2, 0x01, 9, 'n'}, "cut field": {0x0a, 9, 'n'},
	} {
		if _, err := notice.Recipients(data); !errors.Is(err, notice.ErrMalformed) {
			t.Errorf("recipients of %s: %v", name, err)
		}
	}
}

func TestIDIsStable(t *testing.T) {
	t.Parallel()
	const want = "n_4dbj4bsxebo73ycrphyjn57gag"
	got := notice.ID("negative-bin-stock", "119240", `[119240,"A-01","S1"]`, "1780272600000000", notice.Firing, 0)
	if got != want {
		t.Errorf("the id of a known finding changed: %s, want %s", got, want)
	}
}

func TestIDTellsApart(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, id := range []string{
		notice.ID("r", "s", "k", "1", notice.Firing, 0), notice.ID("rs", "", "k", "1", notice.Firing, 0),
		notice.ID("r", "s", "k", "1", notice.Resolved, 0), notice.ID("r", "s", "k", "1", notice.Firing, 1),
		notice.ID("r", "s", "k", "2", notice.Firing, 0), notice.ID("r", "", "sk", "1", notice.Firing, 0),
	} {
		ids[id] = true
		if len(id) != 28 {
			t.Errorf("%s has %d characters", id, len(id))
		}
	}
	if len(ids) != 6 {
		t.Errorf("%d different ids of 6", len(ids))
	}
}

func TestMarshalProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := draw(t)
		data, err := notice.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		again, err := notice.Marshal(n)
		if err != nil || string(again) != string(data) {
			t.Fatalf("the same notice gave other bytes (%v)", err)
		}
		got, err := notice.Unmarshal(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(n, got); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
	})
}

func draw(t *rapid.T) *notice.Notice {
	text := rapid.StringN(0, 40, 160)
	value := rapid.Custom(func(t *rapid.T) any {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return text.Draw(t, "text")
		case 1:
			return rapid.Int64().Draw(t, "integer")
		case 2:
			return rapid.Bool().Draw(t, "boolean")
		default:
			return nil
		}
	})
	n := sample()
	n.ID = rapid.StringMatching(`n_[a-z2-7]{26}`).Draw(t, "id")
	n.Title, n.Body, n.Key = text.Draw(t, "title"), text.Draw(t, "body"), text.Draw(t, "key")
	n.Priority, n.Count = rapid.IntRange(1, 5).Draw(t, "priority"), rapid.IntRange(0, 1<<30).Draw(t, "count")
	n.Order = rapid.SampledFrom([]string{"", "-7.25", "1777644000000"}).Draw(t, "order")
	n.Labels, n.Data = nil, nil
	for range rapid.IntRange(0, 5).Draw(t, "fields") {
		n.Data = append(n.Data, notice.Field{Name: text.Draw(t, "name"), Value: value.Draw(t, "value")})
	}
	if labels := rapid.MapOfN(text, text, 0, 4).Draw(t, "labels"); len(labels) > 0 {
		n.Labels = labels
	}
	n.CreatedAt = time.UnixMicro(rapid.Int64Range(0, 4e15).Draw(t, "created")).UTC()
	return n
}
