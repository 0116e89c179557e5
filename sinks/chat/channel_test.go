package chat

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
)

func TestWhatIsNoChat(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                                 "no service",
		"no url":                           "without spaces",
		"slack://a\x7f":                    "cannot be read",
		"file:///etc/passwd":               "no service",
		"logger://":                        "no service",
		"smtp://user:hunter2@host/?to=a@b": "no service",
		"script+exec:///bin/sh":            "no service",
		"hangouts://chat.googleapis.com/x": "no service",
		"slack://webhook":                  "slack://hook:TOKEN@webhook",
		"slack://hook:short@webhook":       "slack://hook:TOKEN@webhook",
		"slack://hook:T00AAAAAA-B00BBBBBB-cccccccccccccccccccccccc@webhook?color=red": `takes no parameter "color"`,
		"telegram://hunter2@telegram?chats=1":                                         "telegram://TOKEN@telegram",
		"telegram://110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw@telegram?chats=1,2":  "several chats",
		"telegram://110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw@telegram":            "telegram://TOKEN@telegram",
		"discord://hunter2@":                             "discord://TOKEN@WEBHOOKID",
		"discord://hunter2@1/raw":                        "discord://TOKEN@WEBHOOKID",
		"teams://hunter2@x/y?host=h":                     "teams://GROUP",
		"teams+https://example.com/hunter2":              "teams+https://",
		"lark://evil.example.com/hunter2":                "lark://open.larksuite.com/TOKEN",
		"wecom://":                                       "wecom://KEY",
		"ntfy://host":                                    "ntfy://HOST/TOPIC",
		"ntfy://host/hunter2?scheme=gopher":              "ntfy://HOST/TOPIC",
		"ntfy://host/t?disabletlsverification=yes":       `takes no parameter "disabletlsverification"`,
		"ntfy://host/t?attach=file:///etc/passwd":        `takes no parameter "attach"`,
		"gotify://host":                                  "gotify://HOST/TOKEN",
		"gotify://host/hunter2?insecureskipverify=y":     `takes no parameter "insecureskipverify"`,
		"mattermost://host":                              "mattermost://HOST/TOKEN",
		"generic://":                                     "generic://HOST/PATH",
		"generic://host/p?method=GET":                    "POST, PUT or PATCH",
		"generic://host/p?template=hunter":               `no template "hunter"`,
		"generic://host/p?template=wecom&secret=hunter2": "takes no secret, only the key",
		"generic://host/p?template=teams&secret=hunter2": "its address contains the secret",
		"generic://host/p?title=x":                       "generic://HOST/PATH",
		"generic://host/p?@A%20B=x":                      "is no header",
		"generic://host/p?@A=hunter2%0d%0aB:%20c":        "is no header",
		"generic://127.0.0.1/p":                          "allow_private",
		"generic://169.254.169.254/p":                    "metadata",
		"generic://[::ffff:10.0.0.1]/p":                  "allow_private",
		"ntfy://10.0.0.1/topic":                          "allow_private",
	} {
		_, err := New(Options{URL: url})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, e := range examples() {
		f.Add(e.url)
	}
	f.Add("slack://@")
	f.Add("teams://")
	f.Add("generic+http://h?@=1&$=2")
	f.Fuzz(func(t *testing.T, url string) {
		s, _, err := open(url)
		if err != nil {
			return
		}
		if _, err := s.post(&message{id: "n_1", title: "t", text: "x", priority: 3}, at); err != nil {
			t.Skip(err) // New tells it
		}
	})
}

// TestPrivateAddressesBehindNames tests that the guard checks the address of a name.
func TestPrivateAddressesBehindNames(t *testing.T) {
	t.Parallel()
	server := testenv.NewHTTPServer(t)
	_, port, _ := strings.Cut(host(server), ":")
	url := "generic://localhost:" + port + "/in?disabletls=yes"
	c, err := New(Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := push(t, c); verdict(err) != "again" || !strings.Contains(err.Error(), "loopback address") || server.Asked() != 0 {
		t.Errorf("asked %d times: %v", server.Asked(), err)
	}
	if err := push(t, local(t, Options{URL: url})); err != nil || server.Asked() != 1 {
		t.Errorf("asked %d times: %v", server.Asked(), err)
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	server := testenv.NewHTTPServer(t)
	url := "generic://" + host(server) + "/in?disabletls=yes&@Content-Type=application/json"
	file := filepath.Join(t.TempDir(), "text.tmpl")
	for text, want := range map[string]string{
		`{"msg":{{ json .Title }},"zh":{{ json (.In "zh").Title }},"bin":{{ json (.Field "bin") }}}`:                                                          `{"msg":"Bin A-01 is at -3","zh":"货位 A-01 库存为 -3","bin":"A-01"}`,
		`{{ (in "Asia/Shanghai" .CreatedAt).Format "15:04" }}`:                                                                                                `08:10`,
		`{{ if ne .Rule "negative-bin-stock" }}x{{ else if ne .ID "n_aaaaaaaaaaaaaaaaaaaaaaaaaa" }}x{{ else if ne .Priority 3 }}{{ index .Data 7 }}{{ end }}`: "S1 & <S2> went to -3.\nReplenish \"it\" @all.",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := push(t, local(t, Options{URL: url, Text: file})); err != nil {
			t.Fatal(err)
		}
		requests := server.Requests()
		if got := requests[len(requests)-1]; string(got.Body) != want || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s makes %s as %s", text, got.Body, got.Header.Get("Content-Type"))
		}
	}
	for text, want := range map[string]string{"{{ .Nothing }}": "Nothing", "{{": "unclosed", "{{ range .Data }}{{ template \"x\" }}{{ end }}": "x"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := New(Options{URL: url, AllowPrivate: true, Text: file}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := New(Options{URL: url, AllowPrivate: true, Text: file + ".not"}); err == nil {
		t.Error("a template that is not there")
	}
}

func TestLongAndEmptyTexts(t *testing.T) {
	t.Parallel()
	for name, e := range examples() {
		server := tlsServer(t)
		server.Always(testenv.ReplyStatus(http.StatusOK, e.ok))
		c := reach(t, server, Options{URL: e.url, Title: true})
		for _, text := range []string{"", strings.Repeat("补货", 40_000), strings.Repeat("\"\n", 10_000)} {
			d := someDelivery()
			d.Notice.Title, d.Notice.Body = text, text
			m, err := c.message(d.Notice, delivery.Subscriber{})
			if err != nil {
				t.Fatal(err)
			}
			p, err := c.service.post(m, at)
			if err != nil || len(p.body) == 0 {
				t.Errorf("%s: %d bytes, %v", name, len(p.body), err)
			}
			for _, l := range limits()[name] {
				if got := l.measure(p.body); got > l.most {
					t.Errorf("%s: %d %s, the service takes %d", name, got, l.part, l.most)
				}
			}
		}
	}
}
