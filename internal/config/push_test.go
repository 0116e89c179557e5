package config

import (
	"maps"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/sinks/push"
)

// revealed lets a comparison see secrets.
var revealed = cmp.Comparer(func(a, b Secret) bool { return a.Reveal() == b.Reveal() })

func TestPushChannels(t *testing.T) {
	t.Parallel()
	file := write(t, `
sinks:
  least: {type: webhook, url: "https://h/"}
  most:
    type: webhook
    url: "http://u:p@10.0.0.1:8080/x?y=z"
    secret: [whsec_c2VjcmV0, "any text"]
    headers: {authorization: "Bearer ${TOKEN}", X-Site: north}
    allow_private: true
    batch: {max: 100, wait: 1s}
    timeout: 5m
    concurrency: 256
    rate: 600/m
    breaker: {failures: 1, open: 1h}
  tls: {type: webhook, url: "https://h/x", secret: one, tls: {ca: ca.pem, cert: /c.pem, key: k.pem, server_name: n}}
  mail: {type: mail, host: localhost, tls: none, from: a@example.com}
  mails:
    type: mail
    host: smtp.example.com
    tls: tls
    ca: ca.pem
    username: u
    password: "${TOKEN}"
    from: "Täl <a@example.com>"
    helo: me.example.com
    subject: s
    text: t
    html: h
  chat: {type: chat, url: "slack://hook:T@webhook"}
  chats: {type: chat, url: "ntfy://ntfy.sh/x", title: false, text: t, allow_private: true}
  out: {type: stdout}
  text: {type: stdout, format: text, rate: none}
`)
	c, err := Load(Options{File: file, Env: []string{"TOKEN=hunter2", "TALLYMAN_SINKS__OUT__RATE=3/h", "TALLYMAN_SINKS__LEAST__ALLOW_PRIVATE=TRUE", "TALLYMAN_SINKS__ADDED__TYPE=stdout"}})
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(filepath.Dir(file), name) }
	push := func(change func(*PushSink)) *PushSink {
		p := &PushSink{Timeout: 10 * time.Second, Concurrency: 8, Breaker: Breaker{5, 30 * time.Second}}
		change(p)
		return p
	}
	plain := push(func(*PushSink) {})
	want := map[string]Sink{
		"least": {Type: SinkWebhook, Push: plain, Webhook: &WebhookSink{URL: NewSecret("https://h/"), AllowPrivate: true, Batch: Batch{Max: 1}}},
		"most": {
			Type: SinkWebhook,
			Push: &PushSink{Timeout: 5 * time.Minute, Concurrency: 256, Rate: Rate{600, time.Minute}, Breaker: Breaker{1, time.Hour}},
			Webhook: &WebhookSink{
				URL: NewSecret("http://u:p@10.0.0.1:8080/x?y=z"), Secrets: []Secret{NewSecret("whsec_c2VjcmV0"), NewSecret("any text")},
				Headers:      map[string]Secret{"Authorization": NewSecret("Bearer hunter2"), "X-Site": NewSecret("north")},
				AllowPrivate: true, Batch: Batch{100, time.Second},
			},
		},
		"tls": {Type: SinkWebhook, Push: plain, Webhook: &WebhookSink{
			URL: NewSecret("https://h/x"), Secrets: []Secret{NewSecret("one")}, Batch: Batch{Max: 1}, TLS: TLS{in("ca.pem"), "/c.pem", in("k.pem"), "n"},
		}},
		"mail": {Type: SinkMail, Push: plain, Mail: &MailSink{Host: "localhost", Port: 25, TLS: MailNoTLS, From: mail.Address{Address: "a@example.com"}}},
		"mails": {Type: SinkMail, Push: plain, Mail: &MailSink{
			Host: "smtp.example.com", Port: 465, TLS: MailTLSOnly, CA: in("ca.pem"), Username: "u", Password: NewSecret("hunter2"),
			From: mail.Address{Name: "Täl", Address: "a@example.com"}, Helo: "me.example.com", Subject: in("s"), Text: in("t"), HTML: in("h"),
		}},
		"chat":  {Type: SinkChat, Push: plain, Chat: &ChatSink{URL: NewSecret("slack://hook:T@webhook"), Title: true}},
		"chats": {Type: SinkChat, Push: plain, Chat: &ChatSink{URL: NewSecret("ntfy://ntfy.sh/x"), AllowPrivate: true, Text: in("t")}},
		"out":   {Type: SinkStdout, Push: push(func(p *PushSink) { p.Rate = Rate{3, time.Hour} }), Stdout: &StdoutSink{StdoutJSON}},
		"text":  {Type: SinkStdout, Push: plain, Stdout: &StdoutSink{StdoutText}},
		"added": {Type: SinkStdout, Push: plain, Stdout: &StdoutSink{StdoutJSON}},
	}
	if diff := cmp.Diff(want, c.Sinks, revealed); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"50/s": 50, "600/m": 10, "36/h": 0.01, "none": 0} {
		c := load(t, "sinks: {a: {type: stdout, rate: "+text+"}}")
		r := c.Sinks["a"].Push.Rate
		if r.PerSecond() != want || r.String() != text {
			t.Errorf("%s is read as %s, %v a second", text, r, r.PerSecond())
		}
	}
}

// TestPushLimits holds what the configuration takes against what package delivery does.
func TestPushLimits(t *testing.T) {
	t.Parallel()
	if longestTimeout != push.MaxTimeout || longestWait != push.MaxWait {
		t.Error("the limits differ")
	}
}

// TestShippedPushChannels loads the push channels that the shipped configuration shows in comments.
func TestShippedPushChannels(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../configs/tallyman.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(b), "\n  # gateway:\n")
	shown, _, _ = strings.Cut(shown, "\n# Who gets what")
	blocks := strings.Split("\n  # gateway:\n"+shown, "\n\n")
	var text strings.Builder
	text.WriteString("sinks:\n")
	explained := map[SinkType]string{}
	for _, block := range blocks {
		var lines []string
		for line := range strings.Lines(block) {
			if line = strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "  # "); strings.HasPrefix(line, "  ") || strings.HasSuffix(line, ":") {
				lines = append(lines, "  "+line)
			}
		}
		block = strings.Join(lines, "\n") + "\n"
		text.WriteString(block)
		_, kind, _ := strings.Cut(block, "type: ")
		kind, _, _ = strings.Cut(kind, "\n")
		explained[SinkType(kind)] = block
	}
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := load(t, strings.ReplaceAll(text.String(), "/run/secrets/gateway", secret),
		"GATEWAY_URL=https://gateway.example.com", "GATEWAY_TOKEN=t", "SMTP_PASSWORD=p", "SHOUTRRR_URL=slack://hook:T@webhook")
	var got []SinkType
	for _, s := range c.Sinks {
		got = append(got, s.Type)
		if diff := cmp.Diff(defaultPush(), s.Push); diff != "" {
			t.Errorf("%s shows other defaults (-default +shown):\n%s", s.Type, diff)
		}
		_, fields := newSink(s.Type)
		for name := range fields {
			if _, common := defaultPush().fields()[name]; common && s.Type != SinkWebhook {
				continue // explained there
			}
			if !strings.Contains(explained[s.Type], "    "+name+":") {
				t.Errorf("%s of %s is not explained", name, s.Type)
			}
		}
	}
	if slices.Sort(got); !slices.Equal(got, []SinkType{SinkChat, SinkMail, SinkStdout, SinkWebhook}) {
		t.Errorf("it shows %v of %v", got, slices.Collect(maps.Keys(explained)))
	}
}

// A line of the file with a secret in it is not shown, nor is a secret that is no text.
func TestLinesWithSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"sinks: {a: {type: webhook, url: 'https://h/hunter2', timeout: 1}}",
		"sinks: {a: {type: webhook, secret: hunter2}}",
		"sinks: {a: {type: webhook, secret: [hunter2, '']}}",
		"sinks:\n  a:\n    type: webhook\n    url: https://h/\n    secret: whsec_hunter2",
		"sinks: {a: {type: webhook, url: 'ftp://hunter2'}}",
		"sinks: {a: {type: webhook, headers: {A: hunter2, \"B b\": x}}}",
		"sinks: {a: {type: webhook, headers: {A: \"hunter2\\r\\nB: c\"}}}",
		"sinks: {a: {type: mail, password: hunter2}}",
		"sinks: {a: {type: chat, url: hunter2}}",
		"sinks: {a: {type: chat, url: ['slack://hunter2']}}",
		"sinks: {a: {type: mail, password: 0x407235}}",
	} {
		_, err := Load(Options{File: write(t, text)})
		list := problemsOf(t, err)
		for _, p := range list {
			if strings.Contains(p.String(), "hunter2") || strings.Contains(p.String(), "407235") {
				t.Errorf("%s shows the secret:\n%s", text, p)
			}
		}
	}
}
