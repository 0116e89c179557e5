package config

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/settings"
	"tallyman/rules/strictyaml"
	"tallyman/sinks"
	"tallyman/sinks/chat"
	"tallyman/sinks/mail"
	"tallyman/sinks/queue"
	"tallyman/sinks/stdout"
	"tallyman/sinks/webhook"
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
	c, err := Load(Options{Types: types(), File: file, Env: []string{"TOKEN=hunter2", "TALLYMAN_SINKS__OUT__RATE=3/h", "TALLYMAN_SINKS__LEAST__ALLOW_PRIVATE=TRUE", "TALLYMAN_SINKS__ADDED__TYPE=stdout"}})
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(filepath.Dir(file), name) }
	limits := func(typ string, timeout time.Duration, concurrency int, rate settings.Rate, failures int, open time.Duration) sinks.PushSettings {
		return sinks.PushSettings{
			Header: sinks.Header{Type: typ}, Timeout: timeout, Concurrency: concurrency, Rate: rate, Breaker: sinks.Breaker{Failures: failures, Open: open},
		}
	}
	plain := func(typ string) sinks.PushSettings {
		return limits(typ, 10*time.Second, 8, settings.Rate{}, 5, 30*time.Second)
	}
	path := func(name string) settings.File { return settings.File(in(name)) }
	want := Sinks{
		"least": &webhook.Settings{PushSettings: plain("webhook"), URL: NewSecret("https://h/"), AllowPrivate: true, Batch: sinks.Batch{Max: 1}},
		"most": &webhook.Settings{
			PushSettings: limits("webhook", 5*time.Minute, 256, settings.Rate{Calls: 600, Per: time.Minute}, 1, time.Hour),
			URL:          NewSecret("http://u:p@10.0.0.1:8080/x?y=z"), Secrets: settings.Secrets{NewSecret("whsec_c2VjcmV0"), NewSecret("any text")},
			Headers:      settings.Headers{"Authorization": NewSecret("Bearer hunter2"), "X-Site": NewSecret("north")},
			AllowPrivate: true, Batch: sinks.Batch{Max: 100, Wait: time.Second},
		},
		"tls": &webhook.Settings{
			PushSettings: plain("webhook"), URL: NewSecret("https://h/x"), Secrets: settings.Secrets{NewSecret("one")}, Batch: sinks.Batch{Max: 1},
			TLS: webhook.TLSSettings{CA: path("ca.pem"), Cert: "/c.pem", Key: path("k.pem"), ServerName: "n"},
		},
		"mail": &mail.Settings{PushSettings: plain("mail"), Host: "localhost", Port: 25, TLS: mail.None, From: mail.Address{Address: "a@example.com"}},
		"mails": &mail.Settings{
			PushSettings: plain("mail"), Host: "smtp.example.com", Port: 465, TLS: mail.TLS, CA: path("ca.pem"), Username: "u", Password: NewSecret("hunter2"),
			From: mail.Address{Name: "Täl", Address: "a@example.com"}, Helo: "me.example.com", Subject: path("s"), Text: path("t"), HTML: path("h"),
		},
		"chat":  &chat.Settings{PushSettings: plain("chat"), URL: chat.URL{Secret: NewSecret("slack://hook:T@webhook")}, Title: true},
		"chats": &chat.Settings{PushSettings: plain("chat"), URL: chat.URL{Secret: NewSecret("ntfy://ntfy.sh/x")}, AllowPrivate: true, Text: path("t")},
		"out":   &stdout.Settings{PushSettings: limits("stdout", 10*time.Second, 8, settings.Rate{Calls: 3, Per: time.Hour}, 5, 30*time.Second), Format: stdout.JSON},
		"text":  &stdout.Settings{PushSettings: plain("stdout"), Format: stdout.Text},
		"added": &stdout.Settings{PushSettings: plain("stdout"), Format: stdout.JSON},
	}
	if diff := cmp.Diff(want, c.Sinks, revealed); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"50/s": 50, "600/m": 10, "36/h": 0.01, "none": 0} {
		c := load(t, "sinks: {a: {type: stdout, rate: "+text+"}}")
		out, _ := c.Sinks["a"].(*stdout.Settings)
		r := out.Rate
		if r.PerSecond() != want || r.String() != text {
			t.Errorf("%s is read as %s, %v a second", text, r, r.PerSecond())
		}
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
	explained := map[string]string{}
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
		explained[kind] = block
	}
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := load(t, strings.ReplaceAll(text.String(), "/run/secrets/gateway", secret),
		"GATEWAY_URL=https://gateway.example.com", "GATEWAY_TOKEN=t", "SMTP_PASSWORD=p", "SHOUTRRR_URL=telegram://1:T@telegram?chats={address}")
	limitsOf := func(t *testing.T, s sinks.Settings) *sinks.PushSettings {
		t.Helper()
		channel, ok := s.(sinks.ChannelSettings)
		if !ok {
			t.Fatalf("%s is no push channel", s.TypeName())
		}
		return channel.Limits()
	}
	var got []string
	for _, s := range c.Sinks {
		got = append(got, s.TypeName())
		if diff := cmp.Diff(sinks.NewPushSettings(s.TypeName()), *limitsOf(t, s)); diff != "" {
			t.Errorf("%s shows other defaults (-default +shown):\n%s", s.TypeName(), diff)
		}
		for _, name := range strictyaml.FieldNames(s) {
			if slices.Contains(strictyaml.FieldNames(&sinks.PushSettings{}), name) && s.TypeName() != webhook.TypeName {
				continue // explained there
			}
			if !strings.Contains(explained[s.TypeName()], "    "+name+":") {
				t.Errorf("%s of %s is not explained", name, s.TypeName())
			}
		}
	}
	if slices.Sort(got); !slices.Equal(got, []string{chat.TypeName, mail.TypeName, stdout.TypeName, webhook.TypeName}) {
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
		_, err := Load(Options{Types: types(), File: write(t, text)})
		list := problemsOf(t, err)
		for _, p := range list {
			if strings.Contains(p.String(), "hunter2") || strings.Contains(p.String(), "407235") {
				t.Errorf("%s shows the secret:\n%s", text, p)
			}
		}
	}
}

func TestQueueSinks(t *testing.T) {
	t.Parallel()
	c := load(t, `
sinks:
  plain: {type: queue}
  full: {type: queue, timezone: Asia/Shanghai, lease: 90s, max_attempts: 3, dedupe: day, suspend_steps: [2h, 12h, 1d]}
  window: {type: queue, dedupe: 4h, suspend_steps: [], max_attempts: none}
  steps: {type: queue, dedupe: day}
  told: {type: queue, events: {sink: out, on: [ready_again, dead], strategy: delayed, delay: 5m, retry: 3}}
  out: {type: stdout}
`, "TALLYMAN_SINKS__STEPS__SUSPEND_STEPS=1h, 2h", "TALLYMAN_SINKS__STEPS__DEDUPE=until_done", "TALLYMAN_SINKS__ADDED__TYPE=queue", "TALLYMAN_SINKS__ADDED__LEASE=5s",
		"TALLYMAN_SINKS__PLAIN__SUSPEND_STEPS=")
	steps := func(list ...time.Duration) []time.Duration { return list }
	h := time.Hour
	for name, want := range map[string]struct {
		zone     string
		lease    time.Duration
		attempts int
		dedupe   queue.Window
		steps    []time.Duration
	}{
		"plain":  {"UTC", time.Minute, 5, queue.Window{}, steps()},
		"full":   {"Asia/Shanghai", 90 * time.Second, 3, queue.Window{Day: true}, steps(2*h, 12*h, 24*h)},
		"window": {"UTC", time.Minute, item.NoLimit, queue.Window{For: 4 * h}, steps()},
		"steps":  {"UTC", time.Minute, 5, queue.Window{}, steps(h, 2*h)},
		"added":  {"UTC", 5 * time.Second, 5, queue.Window{}, steps(2*h, 12*h)},
	} {
		q, ok := c.Sinks[name].(*queue.Settings)
		if !ok || q.TypeName() != queue.TypeName {
			t.Errorf("%s: %+v", name, c.Sinks[name])
			continue
		}
		if q.Timezone.String() != want.zone || q.Lease != want.lease || int(q.MaxAttempts) != want.attempts || q.Dedupe != want.dedupe {
			t.Errorf("%s: %+v", name, q)
		}
		if q.SuspendSteps == nil || !slices.Equal(q.SuspendSteps, want.steps) {
			t.Errorf("%s: steps %v", name, q.SuspendSteps)
		}
		if q.Events != nil || q.Options(name, queue.Options{}).Events != nil {
			t.Errorf("%s: events %+v", name, q.Events)
		}
	}
	told, _ := c.Sinks["told"].(*queue.Settings)
	want := &item.Events{
		Sink: "out", On: []item.Event{item.EventReadyAgain, item.EventDead},
		Strategy: delivery.Strategy{Kind: delivery.Delayed, Delay: 5 * time.Minute, Retry: 3},
	}
	if diff := cmp.Diff(want, told.Options("told", queue.Options{}).Events); diff != "" {
		t.Error(diff)
	}
}

// TestShippedQueue loads the queue that the shipped configuration shows in comments.
func TestShippedQueue(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../configs/tallyman.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(b), "  # replenishment:\n")
	shown, _, found := strings.Cut(shown, "\n\n")
	if !found {
		t.Fatal("it shows no queue")
	}
	shown = strings.ReplaceAll("\n"+shown, "\n  # ", "\n  ")
	c := load(t, "sinks:\n  gateway: {type: stdout}\n  replenishment:"+shown)
	got, _ := c.Sinks["replenishment"].(*queue.Settings)
	want := queue.NewSettings()
	want.Timezone, want.Dedupe = got.Timezone, queue.Window{Day: true}
	want.Events = &queue.Events{Sink: "gateway", On: []string{"ready_again", "assigned", "dead", "done", "removed"}, Strategy: "important", Until: "sent"}
	if got.Timezone.String() != "Asia/Shanghai" || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	for _, name := range strictyaml.FieldNames(got) {
		if !strings.Contains(shown, "  "+name+": ") {
			t.Errorf("%s is not explained", name)
		}
	}
}
