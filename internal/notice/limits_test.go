package notice_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/notice"
)

// largest is a notice at all of its limits, except the size of all texts.
func largest() *notice.Notice {
	at := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	n := &notice.Notice{
		Title: strings.Repeat("库", notice.MaxTitle), Body: strings.Repeat("库", notice.MaxBody), Priority: notice.HighestPriority,
		Data:   []notice.Field{{Name: "bin", Value: strings.Repeat("x", notice.MaxFieldText)}, {Name: "n", Value: int64(1)}, {Name: "none"}},
		Labels: map[string]string{"a.b-c_" + strings.Repeat("x", notice.MaxName-6): strings.Repeat("库", notice.MaxLabel)},
		Texts:  map[string]notice.Text{}, CreatedAt: at, ExpiresAt: at.Add(notice.MaxLife),
	}
	for i := range notice.MaxLabels - 1 {
		n.Labels["l"+string(rune('a'+i/10))+string(rune('a'+i%10))] = ""
	}
	for i := range notice.MaxLanguages {
		n.Texts["l"+string(rune('a'+i/10))+string(rune('a'+i%10))] = notice.Text{Title: strings.Repeat("x", notice.MaxTitle)}
	}
	return n
}

func TestLimitsOfANotice(t *testing.T) {
	t.Parallel()
	if found := notice.CheckSent(largest()); len(found) > 0 {
		t.Errorf("a notice at its limits: %v", found)
	}
	for want, change := range map[string]func(n *notice.Notice){
		"title: it has 501 characters; at most 500 are allowed":           func(n *notice.Notice) { n.Title += "x" },
		"body: it has 16385 characters; at most 16384 are allowed":        func(n *notice.Notice) { n.Body += "x" },
		"texts.laa.title: it has 501 characters; at most 500 are allowed": func(n *notice.Notice) { n.Texts["laa"] = notice.Text{Title: n.Title + "x"} },
		"texts.laa.body: it has 16385 characters; at most 16384 are allowed": func(n *notice.Notice) {
			n.Texts["laa"] = notice.Text{Body: n.Body + "x"}
		},
		"texts: it has 33 languages; at most 32 are allowed":         func(n *notice.Notice) { n.Texts["zh"] = notice.Text{} },
		"data.bin: it has 16385 bytes; at most 16384 are allowed":    func(n *notice.Notice) { n.Data[0].Value = strings.Repeat("x", notice.MaxFieldText+1) },
		"labels: it has 33 labels; at most 32 are allowed":           func(n *notice.Notice) { n.Labels["more"] = "" },
		"labels.laa: it has 501 characters; at most 500 are allowed": func(n *notice.Notice) { n.Labels["laa"] = strings.Repeat("x", notice.MaxLabel+1) },
		"labels.a b: a label is named with letters, digits, _ . and -, at most 64, a letter or digit first": func(n *notice.Notice) {
			delete(n.Labels, "laa")
			n.Labels["a b"] = ""
		},
		"priority: 0 is not from 1 to 5":           func(n *notice.Notice) { n.Priority = 0 },
		"priority: 6 is not from 1 to 5":           func(n *notice.Notice) { n.Priority = 6 },
		"expires: a notice lives from 1s to 3650d": func(n *notice.Notice) { n.ExpiresAt = n.ExpiresAt.Add(1) },
		"body: it has 262145 bytes of texts; at most 262144 are allowed": func(n *notice.Notice) {
			n.Texts, n.Data, n.Title, n.Body = nil, nil, "", ""
			for range 16 {
				n.Data = append(n.Data, notice.Field{Name: "x", Value: strings.Repeat("x", notice.MaxFieldText-1)})
			}
			n.Title = "x"
		},
	} {
		n := largest()
		change(n)
		var got []string
		for _, f := range notice.CheckSent(n) {
			got = append(got, f.At+": "+f.Message)
		}
		if !slices.Equal(got, []string{want}) {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
}

func TestLimitsOfARequest(t *testing.T) {
	t.Parallel()
	if found := slices.Concat(notice.CheckRequest(notice.MaxRequest, notice.MaxRequestRecipients), notice.CheckRecipients(notice.MaxRecipients)); len(found) > 0 {
		t.Errorf("a request at its limits: %v", found)
	}
	for _, found := range [][]notice.Fault{
		notice.CheckRequest(notice.MaxRequest+1, 0), notice.CheckRequest(1, notice.MaxRequestRecipients+1), notice.CheckRecipients(notice.MaxRecipients + 1),
	} {
		if len(found) != 1 {
			t.Errorf("a request beyond them: %v", found)
		}
	}
}
