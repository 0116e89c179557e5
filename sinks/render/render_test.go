package render_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
	"tallyman/sinks/render"
)

func view() *render.View {
	return render.NewView(&notice.Notice{
		ID: "n_1", Type: "REP\r\nNOTICE", Warehouse: "119240", Status: notice.Firing, Priority: 3, Title: "Bin\tA-01\r\n is at -3\x00", Body: "one\r\ntwo\x07\rthree\xff",
		Texts:  map[string]notice.Text{"zh": {Title: "货位"}},
		Data:   []notice.Field{{Name: "bin", Value: "A-01"}, {Name: "n", Value: int64(-3)}, {Name: "ok", Value: true}, {Name: "none"}},
		Labels: map[string]string{"ar\nea": "re\r\nplenish"}, CreatedAt: time.Date(2026, 6, 1, 8, 10, 0, 0, time.FixedZone("", 8*3600)),
	}, "", delivery.Subscriber{Name: "Ann"})
}

func TestTextsAreClean(t *testing.T) {
	t.Parallel()
	v := view()
	for got, want := range map[string]string{
		v.Type: "REP NOTICE", v.Title: "Bin A-01 is at -3[U+0000]", v.Body: "one\ntwo[U+0007][U+000D]three\uFFFD", v.Labels["ar ea"]: "re\nplenish",
		v.Field("bin"): "A-01", v.Field("n"): "-3", v.Field("ok"): "true", v.Field("none") + v.Field("nothing"): "",
		v.CreatedAt.Format(time.RFC3339): "2026-06-01T00:10:00Z", v.In("zh-CN").Title: "货位", v.In("de").Title: "Bin A-01 is at -3[U+0000]", v.In("zh").Subscriber.Name: "Ann",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestRestIsWhatTheBodyDoesNotList(t *testing.T) {
	t.Parallel()
	v := view()
	v.Body = "bin: A-01\nn: -4\nnone:"
	if diff := cmp.Diff([]render.Field{{Name: "n", Value: "-3"}, {Name: "ok", Value: "true"}}, v.Rest()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{{ json .Title }}`: `"Bin A-01 is at -3[U+0000]"`,
		`{{ json "<&>" }}`:  `"<&>"`,
		`{{ (in "Asia/Shanghai" .CreatedAt).Format "15:04" }}`: "08:10",
		`{{ json .Subscriber.Tags }}`:                          `[]`,
	} {
		p, err := render.Parse(render.Text, "t", text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Execute(view()); err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		`{{ in "Nowhere/Land" .CreatedAt }}`: "Nowhere/Land", `{{ .Nothing }}`: "Nothing", `{{ range 999999 }}long line{{ end }}`: "more than",
	} {
		if _, err := render.Parse(render.HTML, "t", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, []byte("<p>{{ .Subscriber.Name }} {{ .Body }}"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := render.Load(render.HTML, file)
	if err != nil {
		t.Fatal(err)
	}
	v := view()
	v.Body = "<script>"
	if got, err := p.Execute(v); err != nil || got != "<p>Ann &lt;script&gt;" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := render.Load(render.HTML, file+".not"); err == nil {
		t.Error("a file that is not there")
	}
}

func TestShortening(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.String().Draw(t, "text"), rapid.IntRange(3, 40).Draw(t, "limit")
		if got := render.Shorten(s, n); utf8.RuneCountInString(got) > n || utf8.RuneCountInString(s) <= n && got != s {
			t.Errorf("%d characters of %q: %q", n, s, got)
		}
		n = rapid.IntRange(0, 40).Draw(t, "bytes")
		got := render.ShortenBytes(s, n)
		if len(got) > n || !utf8.ValidString(got) || len(s) <= n && got != s || !strings.HasPrefix(s, strings.TrimSuffix(got, "…")) {
			t.Errorf("%d bytes of %q: %q", n, s, got)
		}
	})
}
