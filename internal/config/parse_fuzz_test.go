package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tallyman/internal/settings"
	"tallyman/rules/problem"
	"tallyman/sinks"
	"tallyman/sinks/mail"
	"tallyman/sinks/queue"
	"tallyman/sinks/webhook"
)

// FuzzParse looks for configurations that crash the decoder, are refused without a reason, or are accepted with
// something that no check let through.
func FuzzParse(f *testing.F) {
	f.Add("{}", "")
	f.Add("http: {listen: \"127.0.0.1:8080\"}\nredis: {url: [\"redis://a:1\"], prefix: \"${P}\"}", "redis.url=embedded")
	f.Add("sources: {wms: {driver: sqlite, url: \"sqlite:x.db\", max_connections: 3, statement_timeout: 1m}}", "sources.wms.url=sqlite:y.db")
	f.Add("sinks: {inbox: &i {type: inbox}, other: *i}\nsubscriptions: [{type: A, warehouse: '*', subscriber: 'user:1'}]", "rules.paths=a,b")
	f.Add("sinks: {q: {type: queue, timezone: Asia/Shanghai, lease: 60s, max_attempts: 5, dedupe: day, suspend_steps: [2h, 12h]}}", "sinks.q.dedupe=4h")
	f.Add("sinks: {w: {type: webhook, url: \"https://h/x\", secret: [whsec_c2VjcmV0, b], headers: {A: b}, tls: {server_name: n}, batch: {max: 9, wait: 1s}, rate: 50/s}}", "sinks.w.breaker.open=1m")
	f.Add("sinks: {m: {type: mail, host: h, tls: tls, username: u, password: p, from: \"A <a@b.c>\"}, c: {type: chat, url: \"slack://a:b@c\", title: no}, o: {type: stdout, format: text}}", "sinks.m.port=25")
	f.Fuzz(func(t *testing.T, text, set string) {
		if strings.Contains(text+set, "file:") {
			return // it would read whatever is there
		}
		o := Options{Types: types(), File: "fuzz.yaml", Env: []string{"P=p"}, Set: map[string]string{}}
		if key, value, ok := strings.Cut(set, "="); ok {
			o.Set[key] = value
		}
		c, err := parse("/nowhere/fuzz.yaml", []byte(text), o)
		if err != nil {
			var list problem.List
			if !errors.As(err, &list) || len(list) == 0 || list[0].Code == "" || list[0].Message == "" {
				t.Fatalf("refused without a reason: %#v", err)
			}
			return
		}
		if c.Auth.Mode != AuthNone || c.Ledger.Driver == "" || len(c.Rules.Paths) == 0 {
			t.Fatalf("accepted: %+v", c)
		}
		for name, s := range c.Sinks {
			if q, ok := s.(*queue.Settings); ok && (q.Timezone.Location == nil || q.Lease < time.Second || q.MaxAttempts < 0 || q.Dedupe.For < 0 || q.SuspendSteps == nil) {
				t.Fatalf("accepted sink %q: %+v", name, s)
			}
			channel, ok := s.(sinks.ChannelSettings)
			if !ok {
				continue
			}
			if p := channel.Limits(); p.Timeout < time.Second || p.Concurrency < 1 || p.Rate.Calls < 0 || p.Breaker.Failures < 1 || p.Breaker.Open < time.Second || channel.Batching().Max < 1 {
				t.Fatalf("accepted push channel %q: %+v", name, s)
			}
			if w, ok := s.(*webhook.Settings); ok && w.URL.Reveal() == "" {
				t.Fatalf("accepted %q: %+v", name, s)
			}
			if m, ok := s.(*mail.Settings); ok && (m.Host == "" || m.Port < 1) {
				t.Fatalf("accepted %q: %+v", name, s)
			}
		}
		for name, s := range c.Sources {
			if !settings.IsName(name) || s.MaxConnections < 1 || (s.Path == "") == (s.Driver == SQLite) {
				t.Fatalf("accepted source %q: %+v", name, s)
			}
		}
	})
}
