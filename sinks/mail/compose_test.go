package mail_test

import (
	"errors"
	"io"
	"log/slog"
	"maps"
	"mime"
	"mime/multipart"
	netmail "net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
	"tallyman/internal/text/texttest"
	"tallyman/sinks/mail"
)

// bodies are the decoded parts of a mail by their types.
func bodies(t *testing.T, m *netmail.Message) map[string]string {
	t.Helper()
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("%s: %v", kind, err)
	}
	out := map[string]string{}
	for r := multipart.NewReader(m.Body, params["boundary"]); ; {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := mime.ParseMediaType(p.Header.Get("Content-Type"))
		b, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		out[kind] = strings.ReplaceAll(string(b), "\r\n", "\n")
	}
}

func header(t *testing.T, m *netmail.Message, name string) string {
	t.Helper()
	text, err := (&mime.WordDecoder{}).DecodeHeader(m.Header.Get(name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// mailed is the mail that the delivery becomes.
func mailed(t *testing.T, d delivery.Delivery, change func(*mail.Options)) *netmail.Message {
	t.Helper()
	server := testenv.NewSMTP(t, testenv.SMTPOptions{})
	o := plain(server)
	if change != nil {
		change(&o)
	}
	push(t, newChannel(t, o), d)
	return parse(t, server.Mails()[0])
}

func TestAMail(t *testing.T) {
	t.Parallel()
	m := mailed(t, someDelivery(), nil)
	for name, want := range map[string]string{
		"Subject": "[119240] Bin A-01 is at -3", "From": `"Tallyman" <tallyman@wms.example.com>`, "To": `"Ann Lee" <ann@example.com>`,
		"Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All", "List-Id": "<rep-notice.tallyman.wms.example.com>",
		"X-Tallyman-Notice": "n_aaaaaaaaaaaaaaaaaaaaaaaaaa", "X-Priority": "",
	} {
		if got := header(t, m, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	parts := bodies(t, m)
	const text = "Bin A-01 is at -3\n\nS1 in A-01 went to -3 in wave 77. Replenish it.\n\nbin: A-01\nqty: -3\nwave: \n\n-- \nREP_NOTICE · 119240 · negative-bin-stock · 2026-06-01 00:10 UTC\n"
	if parts["text/plain"] != text {
		t.Errorf("%q", parts["text/plain"])
	}
	html := parts["text/html"]
	for _, want := range []string{"<h1 style=", ">Bin A-01 is at -3</h1>", "Replenish it.", ">qty</th><td", ">-3</td>", "#1565c0"} {
		if !strings.Contains(html, want) {
			t.Errorf("no %s in %s", want, html)
		}
	}
}

func TestImportance(t *testing.T) {
	t.Parallel()
	for priority, want := range map[int]string{1: "5", 2: "", 3: "", 4: "1", 5: "1"} {
		d := someDelivery()
		d.Notice.Priority = priority
		if got := mailed(t, d, nil).Header.Get("X-Priority"); got != want {
			t.Errorf("priority %d: X-Priority %q, want %q", priority, got, want)
		}
		d.Notice.Status = notice.Resolved
		if got := mailed(t, d, nil).Header.Get("X-Priority"); got != "" {
			t.Errorf("resolved: X-Priority %q", got)
		}
	}
}

// The mails of a finding make a thread, and those of a business system none.
func TestThreads(t *testing.T) {
	t.Parallel()
	firing, resolved, other, sent := someDelivery(), someDelivery(), someDelivery(), someDelivery()
	resolved.Notice.ID, resolved.Notice.Status = "n_bbbbbbbbbbbbbbbbbbbbbbbbbb", notice.Resolved
	other.Notice.Episode = "1"
	sent.Notice.Rule, sent.Notice.Status = "", notice.Sent
	a, b, c, d := mailed(t, firing, nil).Header, mailed(t, resolved, nil).Header, mailed(t, other, nil).Header, mailed(t, sent, nil).Header
	if a.Get("References") == "" || a.Get("References") != b.Get("References") || a.Get("References") == c.Get("References") || d.Get("References") != "" {
		t.Errorf("%q %q %q %q", a.Get("References"), b.Get("References"), c.Get("References"), d.Get("References"))
	}
	if a.Get("Message-Id") == b.Get("Message-Id") || !strings.HasSuffix(a.Get("Message-Id"), "@wms.example.com>") {
		t.Errorf("%q %q", a.Get("Message-Id"), b.Get("Message-Id"))
	}
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	for language, want := range map[string]string{"zh-CN": "[119240] 货位 A-01 库存为 -3", "de": "[119240] Bin A-01 is at -3", "": "[119240] Bin A-01 is at -3"} {
		m := mailed(t, someDelivery(), func(o *mail.Options) {
			o.Book = book{"role:keeper": {ID: "role:keeper", Language: language, Mail: []string{"a@example.com"}}}
		})
		if got := header(t, m, "Subject"); got != want {
			t.Errorf("%s: %s", language, got)
		}
	}
}

// shape are the names of a mail's headers.
func shape(m *netmail.Message) []string { return slices.Sorted(maps.Keys(m.Header)) }

// FuzzNoHeaderIsInjected puts texts wherever texts of strangers go, and looks whether the mail has one header more, or one
// address more.
func FuzzNoHeaderIsInjected(f *testing.F) {
	f.Add("a\r\nBcc: other@example.com\r\n\r\nx", "Ann\r\nCc: x@example.com", "REP\r\nX: y")
	f.Add("=?utf-8?q?a=0D=0ABcc:_x@y?=", "=?utf-8?q?a=0D=0ABcc:_x@y?=", "\x00\x7f")
	f.Add(strings.Repeat("补货", 300), "", "")
	f.Add("\u2028\u2029\u0085\xff", "\\\"<>", "…")
	f.Add(texttest.All(), texttest.Valid(), texttest.All())
	server := testenv.NewSMTP(f, testenv.SMTPOptions{})
	o := mail.Options{Host: server.Host, Port: server.Port, Security: mail.None, From: netmail.Address{Name: "T", Address: "t@example.com"}}
	var want []string
	f.Fuzz(func(t *testing.T, text, name, kind string) {
		if want == nil {
			want = shape(compose(t, server, o, someDelivery(), "Ann"))
		}
		d := someDelivery()
		n := d.Notice
		n.Title, n.Body, n.Type, n.Warehouse, n.Key, n.Data[0].Value, n.Labels["area"] = text, text, kind, text, text, text, text
		if _, err := netmail.ParseAddress((&netmail.Address{Name: name, Address: "ann@example.com"}).String()); err != nil {
			t.Skip("net/mail does not read what it writes")
		}
		m := compose(t, server, o, d, name)
		if got := shape(m); !slices.Equal(got, want) {
			t.Errorf("headers %q, want %q", got, want)
		}
		for name := range m.Header {
			texttest.Visible(t, "the header "+name, header(t, m, name))
		}
		for kind, words := range bodies(t, m) {
			texttest.Visible(t, kind, words)
		}
		if to, err := m.Header.AddressList("To"); err != nil || len(to) != 1 || to[0].Address != "ann@example.com" {
			t.Errorf("to %v: %v", to, err)
		}
	})
}

// compose mails a delivery to a subscriber of that name.
func compose(t *testing.T, server *testenv.SMTP, o mail.Options, d delivery.Delivery, name string) *netmail.Message {
	t.Helper()
	address := (&netmail.Address{Name: name, Address: "ann@example.com"}).String()
	o.From.Name, o.Book = name, keepers(address)
	c := newChannel(t, o)
	push(t, c, d)
	mails := server.Mails()
	return parse(t, mails[len(mails)-1])
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "x.tmpl")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	d := someDelivery()
	d.Notice.Title = "<b>Bin</b>"
	log := &testenv.Output{}
	m := mailed(t, d, func(o *mail.Options) {
		o.Subject = write("{{ .Subscriber.Name }}: {{ .Title }}\nand more")
		o.Text = write(`{{ .Field "bin" }} at {{ (in "Asia/Shanghai" .CreatedAt).Format "15:04" }}, {{ index .Labels "area" }}`)
		o.HTML = write(`<p title="{{ .Title }}">{{ .Title }}</p>{{ if eq .Title "<b>Bin</b>" }}{{ index .Data 99 }}{{ end }}`)
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
	})
	if got := header(t, m, "Subject"); got != "Keepers: <b>Bin</b> and more" {
		t.Error(got)
	}
	parts := bodies(t, m)
	if parts["text/plain"] != "A-01 at 08:10, replenishment" {
		t.Errorf("%q", parts["text/plain"])
	}
	if html := parts["text/html"]; !strings.Contains(html, "<h1") || !strings.Contains(html, "&lt;b&gt;Bin&lt;/b&gt;</h1>") {
		t.Errorf("the built-in template does not stand in: %s", html)
	}
	if text := log.String(); !strings.Contains(text, "A mail template failed") {
		t.Error(text)
	}
}
