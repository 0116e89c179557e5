package config

import "testing"

// TestBadPushChannels is TestBadConfigurations for webhooks, mail, chat and stdout.
func TestBadPushChannels(t *testing.T) {
	t.Parallel()
	hook := func(rest string) string { return "sinks:\n  a: {type: webhook, url: \"https://h\", " + rest + "}" }
	mail := func(rest string) string { return "sinks:\n  a: {type: mail, host: h, from: a@b.c, " + rest + "}" }
	out := func(rest string) string { return "sinks: {a: {type: stdout, " + rest + "}}" }
	checkRefusals(t, []refused{
		{name: "mistyped type", text: "sinks: {a: {type: web-hook, url: x, timeout: 1}}", want: []string{"unknown_value: sinks.a.type"}, hint: `did you mean "webhook"?`},
		{name: "no url", text: "sinks:\n  a: {type: webhook}", want: []string{":2:3: missing_field: sinks.a.url is missing"}},
		{name: "no web server", text: "sinks: {a: {type: webhook, url: \"ftp://h\"}}", want: []string{"bad_url: sinks.a.url is no address of a web server"}, hint: "https://host/path"},
		{name: "no host", text: "sinks: {a: {type: webhook, url: \"https:///x\"}}", want: []string{"bad_url"}},
		{name: "impossible port", text: "sinks: {a: {type: webhook, url: \"https://h:99999\"}}", want: []string{"bad_url"}},
		{name: "empty secret", text: hook(`secret: ""`), want: []string{"missing_field: sinks.a.secret is empty"}, hint: "remove it, and calls are not signed"},
		{name: "second secret", text: hook(`secret: [a, "whsec_?"]`), want: []string{":2:52: bad_signing_secret: sinks.a.secret.1"}},
		{name: "reserved header", text: hook(`headers: {webhook-id: x}`), want: []string{":2:50: bad_header: sinks.a.headers.webhook-id: Tallyman sets Webhook-Id itself"}},
		{name: "header twice", text: hook(`headers: {X-A: x, x-a: y}`), want: []string{"bad_header: sinks.a.headers.x-a: headers have no case"}},
		{name: "name of a header", text: hook(`headers: {"a b": x}`), want: []string{`bad_header: "a b" cannot be`}},
		{name: "lines in a header", text: hook(`headers: {A: "x\r\nB: y"}`), want: []string{"bad_text: sinks.a.headers.A: it has U+000D (CARRIAGE RETURN) at character 2"}},
		{name: "another script in a header", text: hook(`headers: {A: 库}`), want: []string{"bad_header: sinks.a.headers.A: a header's value has characters up to U+00FF"}},
		{name: "headers are a list", text: hook(`headers: [x]`), want: []string{"wrong_type: sinks.a.headers takes a map of headers, found a list"}},
		{name: "allow_private", text: hook(`allow_private: 1`), want: []string{`wrong_type: sinks.a.allow_private takes true or false, found "1"`}},
		{name: "key without cert", text: hook(`tls: {key: k}`), want: []string{"missing_field: sinks.a.tls.cert is missing"}},
		{name: "cert without key", text: hook(`tls: {cert: k}`), want: []string{"missing_field: sinks.a.tls.key is missing"}},
		{name: "no file", text: hook(`tls: {ca: ""}`), want: []string{"missing_field: sinks.a.tls.ca names no file"}},
		{name: "tls without https", text: "sinks: {a: {type: webhook, url: \"http://h\", tls: {server_name: n}}}", want: []string{"tls_without_https"}},
		{name: "batch of none", text: hook(`batch: {max: 0}`), want: []string{"out_of_range: sinks.a.batch.max is 0, at least 1 is needed"}},
		{name: "large batch", text: hook(`batch: {max: 1001}`), want: []string{"out_of_range: sinks.a.batch.max is 1001, at most 1000 is possible"}},
		{name: "batch that waits", text: hook(`batch: {wait: 2m}`), want: []string{"out_of_range: sinks.a.batch.wait is 2m, at most 1m is possible"}},
		{name: "no concurrency", text: out("concurrency: 0"), want: []string{"out_of_range: sinks.a.concurrency is 0"}},
		{name: "many at a time", text: out("concurrency: 257"), want: []string{"out_of_range: sinks.a.concurrency is 257, at most 256"}},
		{name: "short timeout", text: out("timeout: 0.5s"), want: []string{"out_of_range: sinks.a.timeout"}},
		{name: "long timeout", text: out("timeout: 6m"), want: []string{"out_of_range: sinks.a.timeout is 6m, at most 5m"}},
		{name: "rate without a unit", text: out("rate: 50"), want: []string{`bad_rate: sinks.a.rate: "50" is no rate`}},
		{name: "rate of none", text: out("rate: 0/s"), want: []string{"bad_rate: sinks.a.rate is 0/s: 1 to 1000000 are possible"}, hint: "leave it away, or write none, for no limit"},
		{name: "rate is a list", text: out("rate: [50/s]"), want: []string{"wrong_type: sinks.a.rate takes a rate such as 50/s, found a list"}},
		{name: "breaker", text: out("breaker: {failures: 0, open: 2h, for: 1s}"), want: []string{
			"out_of_range: sinks.a.breaker.failures is 0", "out_of_range: sinks.a.breaker.open is 2h, at most 1h", `unknown_field: there is no field "sinks.a.breaker.for"`,
		}},
		{name: "format", text: out("format: jsno"), want: []string{`unknown_value: sinks.a.format cannot be "jsno"`}, hint: `did you mean "json"?`},
		{name: "no mail server", text: "sinks:\n  a: {type: mail, from: a@b.c}", want: []string{":2:3: missing_field: sinks.a.host is missing"}},
		{name: "no sender", text: "sinks:\n  a: {type: mail, host: h}", want: []string{":2:3: missing_field: sinks.a.from is missing"}},
		{name: "host with a port", text: "sinks:\n  a: {type: mail, host: \"h:25\", from: a@b.c}", want: []string{"bad_host: sinks.a.host"}},
		{name: "sender", text: "sinks:\n  a: {type: mail, host: h, from: nobody}", want: []string{`bad_address: sinks.a.from: "nobody" is no mail address`}},
		{name: "mail port", text: mail("port: 65536"), want: []string{"out_of_range: sinks.a.port"}},
		{name: "mail tls", text: mail("tls: ssl"), want: []string{`unknown_value: sinks.a.tls cannot be "ssl"`}, hint: "one of starttls, tls, none"},
		{name: "mail without tls", text: mail("tls: none"), want: []string{"mail_without_tls: sinks.a.tls is none, and h is another machine"}},
		{name: "user without password", text: mail("username: u"), want: []string{"missing_field: sinks.a.password is missing"}},
		{name: "password without user", text: mail("password: p"), want: []string{"missing_field: sinks.a.username is missing"}},
		{name: "no chat", text: "sinks:\n  a: {type: chat}", want: []string{":2:3: missing_field: sinks.a.url is missing"}},
		{name: "several chats", text: "sinks: {a: {type: chat, url: [\"slack://x\", \"ntfy://y\"]}}", want: []string{"bad_url: sinks.a.url is a list: a sink posts to one chat"}, hint: "make a sink of each, and name them in the rule"},
		{name: "chat without a scheme", text: "sinks: {a: {type: chat, url: hook}}", want: []string{"bad_url: sinks.a.url is no address of a chat"}},
		{name: "field of another channel", text: out("url: x"), want: []string{`unknown_field: there is no field "sinks.a.url"`}, hint: "known fields: breaker, concurrency, format, rate, timeout, type"},
	})
}
