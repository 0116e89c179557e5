package notice_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"tallyman/internal/notice"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestForms(t *testing.T) {
	t.Parallel()
	views := map[string]notice.View{
		"sample": {Notice: sample(), Score: 7}, "odd": {Notice: odd(), Read: true, Acked: true}, "small": {Notice: &notice.Notice{ID: "n_1"}},
		"sent": {Notice: &notice.Notice{ID: "n_2", Status: notice.Sent, Episode: "s_KZyvzrVnoKtJ"}},
	}
	for name, v := range views {
		asJSON, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		asXML, err := xml.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".json", asJSON)
		golden(t, name+".xml", asXML)
		wellFormed(t, asXML)
	}
	asJSON, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "noreader.json", asJSON)
	asXML, err := xml.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "noreader.xml", asXML)
}

func TestLocalize(t *testing.T) {
	t.Parallel()
	n := sample()
	n.Texts = map[string]notice.Text{
		"zh": {Title: "zh title", Body: "zh body"}, "zh-TW": {Title: "tw title"}, "de": {Body: "de body"}, "": {Title: "never"},
	}
	for lang, want := range map[string][2]string{
		"":           {n.Title, n.Body},
		"fr":         {n.Title, n.Body},
		"zh":         {"zh title", "zh body"},
		"zh-CN":      {"zh title", "zh body"},
		"ZH_cn":      {"zh title", "zh body"},
		"zh-Hant-HK": {"zh title", "zh body"},
		"zh-tw":      {"tw title", n.Body},
		"de-AT":      {n.Title, "de body"},
	} {
		got := n.Localize(lang)
		if got.Title != want[0] || got.Body != want[1] {
			t.Errorf("%q: %q, %q", lang, got.Title, got.Body)
		}
	}
	n.Texts["zh-tW"], n.Texts["ZH-TW"] = notice.Text{Title: "tw title"}, notice.Text{Title: "first title"}
	for range 100 { // of several tags that differ only in case always the same is taken
		if got := n.Localize("zh-tw"); got.Title != "first title" {
			t.Fatalf("got %q", got.Title)
		}
	}
	if n.Title != sample().Title {
		t.Error("Localize changed the notice itself")
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, append(got, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.TrimSuffix(want, []byte("\n")), got) {
		t.Errorf("%s\nwant %s got  %s", path, want, got)
	}
}

func wellFormed(t *testing.T, data []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in %s", err, data)
		}
	}
}
