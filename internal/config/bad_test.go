package config

import (
	"errors"
	"strings"
	"testing"

	"tallyman/rules/problem"
)

// TestBadConfigurations has configurations and the problems with which they must be refused, one a line, without the
// name of the file. <name> is the place of a value from the environment or a flag.
func TestBadConfigurations(t *testing.T) {
	t.Parallel()
	checkRefusals(t, []refused{
		{name: "syntax", text: "http: {listen", want: []string{"yaml_syntax"}},
		{name: "not a map", text: "[1, 2]", want: []string{":1:1: wrong_type: a configuration is a map of sections"}},
		{name: "unknown section", text: "http: {}\nredsi: {url: embedded}", want: []string{`:2:1: unknown_field: there is no field "redsi"`}, hint: `did you mean "redis"?`},
		{name: "unknown field", text: "http:\n  listne: x", want: []string{`:2:3: unknown_field: there is no field "http.listne"`}, hint: `did you mean "listen"?`},
		{name: "set twice", text: "http: {}\nhttp: {}", want: []string{":2:1: duplicate_field"}},
		{
			name: "unknown variable", text: "{}", env: []string{"TALLYMAN_REDIS__URLL=x"},
			want: []string{`TALLYMAN_REDIS__URLL: unknown_field: there is no field "redis.urll"`}, hint: `did you mean "url"?`,
		},
		{name: "bad variable", text: "{}", env: []string{"TALLYMAN_LEDGER__RETENTION=soon"}, want: []string{"TALLYMAN_LEDGER__RETENTION: bad_duration"}},
		{name: "section is text", text: "http: x", want: []string{":1:7: wrong_type: http takes a map of fields, found a text"}},
		{name: "number for text", text: "http: {listen: 8080}", want: []string{":1:16: wrong_type: http.listen takes a text, found 8080"}, hint: "put it in quotes"},
		{name: "empty value", text: "redis: {prefix: }", want: []string{"wrong_type: redis.prefix takes a text, found nothing"}},
		{name: "text for list", text: "rules: {paths: rules}", want: []string{"wrong_type: rules.paths takes a list, found a text"}},
		{name: "empty list", text: "rules: {paths: []}", want: []string{"missing_field: rules.paths names no file or folder"}},
		{name: "unset variable", text: `ledger: {url: "${NOPE}"}`, want: []string{":1:15: unset_variable: ledger.url: the environment variable NOPE is not set"}},
		{name: "bad reference", text: `redis: {prefix: "${a-b}"}`, want: []string{":1:17: bad_reference"}, hint: "write $${ for a plain ${"},
		{name: "no such secret file", text: `ledger: {url: "file:/no/such"}`, want: []string{"file_unreadable: ledger.url: the file /no/such is not there"}},
		{name: "endless secret file", text: `ledger: {url: "file:/dev/zero"}`, want: []string{"file_unreadable: ledger.url: the file /dev/zero has more than 65536 bytes"}},
		{name: "none on every address", text: `http: {listen: ":8080"}`, want: []string{`:1:16: auth_none_not_loopback: http.listen ":8080"`}},
		{name: "none on a foreign address", text: `http: {listen: "10.0.0.1:8080"}`, want: []string{"auth_none_not_loopback"}},
		{name: "no port", text: `http: {listen: "localhost"}`, want: []string{"bad_listen_address"}},
		{name: "impossible port", text: `http: {listen: "localhost:99999"}`, want: []string{"bad_listen_address"}},
		{name: "unknown mode", text: "auth: {mode: open}", want: []string{":1:14: unknown_value: auth.mode"}},
		{name: "redis scheme", text: "redis: {url: http://x}", want: []string{":1:14: bad_url: redis.url is no address"}},
		{name: "redis list", text: "redis: {url: []}", want: []string{"bad_url: redis.url is an empty list"}},
		{name: "embedded in a list", text: "redis: {url: [embedded]}", want: []string{"bad_url"}},
		{name: "redis prefix", text: `redis: {prefix: "a{b}"}`, want: []string{"bad_name: redis.prefix"}},
		{name: "password with #", text: `sources: {wms: {driver: postgres, url: "postgres://u:hunter#2@db/wms"}}`, want: []string{"bad_url: sources.wms.url"}, hint: "postgres://user@host:5432/database; in a password, write # as %23, @ as %40, / as %2F, ? as %3F, % as %25"},
		{name: "password with @ and /", text: `sources: {wms: {driver: mysql, url: "mysql://u:hunter@2/3@db/wms"}}`, want: []string{"bad_url: sources.wms.url"}, hint: "mysql://user@host:3306/database; in a password, write # as %23, @ as %40, / as %2F, ? as %3F, % as %25"},
		{name: "options of a file", text: `sources: {wms: {driver: sqlite, url: "sqlite:wms.db?mode=ro"}}`, want: []string{"bad_url: sources.wms.url"}, hint: "sqlite:FILE, without options: the file is always opened to be read only"},
		{name: "ledger", text: "ledger: {url: tallyman.db}", want: []string{"bad_url: ledger.url"}, hint: ledgerForms},
		{name: "ledger in memory", text: `ledger: {url: "sqlite::memory:"}`, want: []string{"bad_url: ledger.url"}},
		{name: "ledger of several hosts without a database", text: `ledger: {url: "postgres://u@a:5432,b:5432"}`, want: []string{"bad_url: ledger.url"}, hint: ledgerForms},
		{name: "ledger of several hosts with a bad port", text: `ledger: {url: "postgres://u@a:5432,b:x/tallyman"}`, want: []string{"bad_url: ledger.url"}, hint: ledgerForms},
		{name: "ledger on a standby", text: `ledger: {url: "postgres://u@a,b/tallyman?target_session_attrs=standby"}`, want: []string{"bad_url: ledger.url asks for a server that may be a standby"}, hint: "target_session_attrs takes read-write or primary"},
		{name: "ledger on any server", text: `ledger: {url: "postgres://u@a,b/tallyman?target_session_attrs=any"}`, want: []string{"bad_url: ledger.url asks for a server that may be a standby"}},
		{name: "ledger mysql", text: `ledger: {url: "mysql://x/y"}`, want: []string{"not_available: ledger.url: a ledger in mysql"}},
		{name: "node name", text: `node: {name: "wms 1"}`, want: []string{`:1:14: bad_name: "wms 1" cannot be a name`}, hint: nameHint},
		{name: "long node name", text: "node: {name: " + strings.Repeat("n", 65) + "}", want: []string{":1:14: bad_name"}},
		{name: "short node lease", text: "node: {lease: 999ms}", want: []string{"node.lease"}},
		{name: "long node lease", text: "node: {lease: 61s}", want: []string{"out_of_range: node.lease is 61s, at most 1m is possible"}},
		{name: "retention", text: "ledger: {retention: 90}", want: []string{":1:21: bad_duration"}, hint: "90 has no unit: add s, m, h or d"},
		{name: "short retention", text: "ledger: {retention: 1h}", want: []string{"out_of_range: ledger.retention is 1h, at least 24h is needed"}},
		{name: "driver", text: "sources:\n  wms: {driver: postgre, url: x}", want: []string{`:2:17: unknown_value: sources.wms.driver cannot be "postgre"`}, hint: `did you mean "postgres"?`},
		{name: "no oracle", text: `sources: {wms: {driver: oracle, url: "wms/secret@db"}}`, want: []string{"bad_url: sources.wms.url is no Oracle address"}, hint: "oracle://user@host:1521/service"},
		{name: "oracle without a service", text: `sources: {wms: {driver: oracle, url: "oracle://wms@db"}}`, want: []string{"bad_url: sources.wms.url"}},
		{name: "no sqlserver", text: `sources: {wms: {driver: sqlserver, url: "Server=db;Password=secret"}}`, want: []string{"bad_url: sources.wms.url is no SQL Server address"}},
		{name: "sqlserver without a database", text: `sources: {wms: {driver: sqlserver, url: "sqlserver://db?database=wms"}}`, want: []string{"bad_url: sources.wms.url"}},
		{name: "another name of a driver", text: "sources: {wms: {driver: mariadb, url: x}}", want: []string{`sources.wms.driver cannot be "mariadb"`}, hint: "mysql is the driver of MariaDB too"},
		{name: "no mysql", text: `sources: {wms: {driver: mysql, url: "user:secret@tcp(host)/db"}}`, want: []string{"bad_url: sources.wms.url is no address of MySQL or MariaDB"}},
		{name: "mysql without a database", text: `sources: {wms: {driver: mysql, url: "mysql://host"}}`, want: []string{"bad_url: sources.wms.url"}},
		{name: "no driver", text: "sources:\n  wms: {url: x}", want: []string{":2:3: missing_field: sources.wms.driver is missing"}},
		{name: "no url", text: "sources:\n  wms: {driver: postgres}", want: []string{":2:3: missing_field: sources.wms.url is missing"}},
		{name: "wrong url", text: `sources: {wms: {driver: sqlite, url: "postgres://x/y"}}`, want: []string{"bad_url: sources.wms.url names no SQLite file"}},
		{name: "no database", text: `sources: {wms: {driver: postgres, url: "postgres://x"}}`, want: []string{"bad_url: sources.wms.url is no PostgreSQL address"}},
		{name: "no connections", text: `sources: {wms: {driver: sqlite, url: "sqlite:x", max_connections: 0}}`, want: []string{"out_of_range: sources.wms.max_connections is 0, at least 1 is needed"}},
		{name: "no cell", text: `sources: {wms: {driver: sqlite, url: "sqlite:x", max_cell_bytes: 1023}}`, want: []string{"out_of_range: sources.wms.max_cell_bytes is 1023, at least 1024 is needed"}},
		{name: "any row", text: `sources: {wms: {driver: sqlite, url: "sqlite:x", max_row_bytes: 1073741825}}`, want: []string{"out_of_range: sources.wms.max_row_bytes is 1073741825, at most 1073741824 is possible"}},
		{
			name: "cell above row", text: `sources: {wms: {driver: sqlite, url: "sqlite:x", max_cell_bytes: 5000000}}`,
			want: []string{":1:66: out_of_range: sources.wms.max_cell_bytes is 5000000, more than the 4194304 of a whole row"}, hint: "raise max_row_bytes too",
		},
		{name: "functions by wildcard", text: `sources: {wms: {driver: sqlite, url: "sqlite:x", functions: ["wms.*", "pg_%", random, 'a."B c"', "f()", ""]}}`, want: []string{
			`bad_name: sources.wms.functions: "wms.*" is no name of a function`, `"pg_%" is no name`, `"f()" is no name`, `"" is no name`,
		}},
		{name: "functions of Oracle", text: `sources: {wms: {driver: oracle, url: "oracle://a:b@c/d", functions: [f]}}`, want: []string{
			`not_available: sources.wms.functions: the functions that a probe calls on oracle are not looked up`,
		}},
		{name: "timezone of a source", text: `sources: {wms: {driver: sqlite, url: "sqlite:x", timezone: Asia/Shangai}}`, want: []string{
			`bad_timezone: sources.wms.timezone: the timezone "Asia/Shangai" is not known`,
		}, hint: `an IANA name such as Asia/Shanghai, UTC, or an offset such as "+08:00"`},
		{name: "local time of a source", text: `sources: {wms: {driver: sqlite, url: "sqlite:x", timezone: Local}}`, want: []string{"bad_timezone"}},
		{name: "timezone in the url", text: `sources: {wms: {driver: postgres, url: "postgres://a:hush@b/c?sslmode=disable&TimeZone=PRC"}}`, want: []string{
			"bad_url: sources.wms.url has the option timezone, which is a setting of the source",
		}, hint: `beside the url, as timezone: Asia/Shanghai, or an offset as "+08:00"`},
		{name: "half a connection", text: `sources: {wms: {driver: sqlite, url: "sqlite:x", max_connections: 0.5}}`, want: []string{"wrong_type"}},
		{name: "name of a source", text: `sources: {"a b": {driver: sqlite, url: "sqlite:x"}}`, want: []string{`:1:11: bad_name: "a b" cannot be a name`}},
		{name: "unknown sink", text: "sinks: {q: {type: inbux, lease: 60s}}", want: []string{"unknown_value: sinks.q.type"}, hint: `did you mean "inbox"?`},
		{name: "unlike any sink", text: "sinks: {q: {type: pigeon}}", want: []string{"unknown_value: sinks.q.type"}, hint: "one of inbox, queue, webhook, mail, chat, stdout"},
		{name: "sink type is a number", text: "sinks: {q: {type: 1}}", want: []string{"wrong_type: sinks.q.type"}},
		{name: "no sink type", text: "sinks: {q: {}}", want: []string{"missing_field: sinks.q.type is missing"}},
		{name: "two inboxes", text: "sinks:\n  b: {type: inbox}\n  a: {type: inbox}", want: []string{":2:3: several_inboxes: sinks.b is a second inbox beside sinks.a"}},
		{name: "no room in an inbox", text: "sinks: {q: {type: inbox, cap: 0}}", want: []string{":1:31: out_of_range: sinks.q.cap is 0, at least 1 is needed"}},
		{name: "a vast inbox", text: "sinks: {q: {type: inbox, cap: 100001}}", want: []string{":1:31: out_of_range: sinks.q.cap is 100001, at most 100000 is possible"}},
		{name: "field of another sink", text: "sinks: {q: {type: inbox, lease: 60s}}", want: []string{`unknown_field: there is no field "sinks.q.lease"`}},
		{
			name: "field of a webhook", text: "sinks: {q: {type: queue, url: x}}", want: []string{`:1:26: unknown_field: there is no field "sinks.q.url"`},
			hint: "known fields: dedupe, events, lease, max_attempts, on_repeat, suspend_steps, timezone, type",
		},
		{name: "queue timezone", text: "sinks: {q: {type: queue, timezone: Asia/Shangai}}", want: []string{`:1:36: bad_timezone: sinks.q.timezone: unknown timezone "Asia/Shangai"`}},
		{name: "queue on local time", text: "sinks: {q: {type: queue, timezone: local}}", want: []string{"bad_timezone"}},
		{name: "queue without a timezone", text: `sinks: {q: {type: queue, timezone: ""}}`, want: []string{"bad_timezone"}},
		{name: "short lease", text: "sinks: {q: {type: queue, lease: 0.5s}}", want: []string{"out_of_range: sinks.q.lease is 0.5s, at least 1s is needed"}},
		{name: "long lease", text: "sinks: {q: {type: queue, lease: 25h}}", want: []string{"out_of_range: sinks.q.lease is 25h, at most 24h is possible"}},
		{name: "no attempts", text: "sinks: {q: {type: queue, max_attempts: 0}}", want: []string{"out_of_range: sinks.q.max_attempts is 0, at least 1 is needed"}, hint: "a number from 1 on, or none"},
		{name: "attempts that are no number", text: "sinks: {q: {type: queue, max_attempts: never}}", want: []string{"wrong_type: sinks.q.max_attempts takes"}, hint: "a number from 1 on, or none"},
		{name: "too many steps", text: "sinks: {q: {type: queue, suspend_steps: [" + strings.Repeat("1h, ", 100) + "1h]}}", want: []string{"out_of_range: sinks.q.suspend_steps has 101 steps, at most 100 are possible"}},
		{name: "dedupe", text: "sinks: {q: {type: queue, dedupe: daily}}", want: []string{`:1:34: bad_dedupe: sinks.q.dedupe cannot be "daily"`}, hint: "until_done, day, or a duration such as 4h; content before it, or alone, makes keys from priority and payload"},
		{name: "dedupe without a unit", text: "sinks: {q: {type: queue, dedupe: 4}}", want: []string{`bad_dedupe: sinks.q.dedupe cannot be "4"`}, hint: "4 has no unit: add s, m, h or d"},
		{name: "dedupe for nothing", text: "sinks: {q: {type: queue, dedupe: 0s}}", want: []string{`bad_dedupe: sinks.q.dedupe cannot be "0s"`}, hint: "a duration between 1s and 366d"},
		{name: "dedupe for ever", text: "sinks: {q: {type: queue, dedupe: 400d}}", want: []string{`bad_dedupe: sinks.q.dedupe cannot be "400d"`}, hint: "a duration between 1s and 366d"},
		{name: "dedupe is a list", text: "sinks: {q: {type: queue, dedupe: [day]}}", want: []string{"wrong_type: sinks.q.dedupe takes until_done, day, or a duration, also behind content, found a list"}},
		{name: "suspend steps", text: "sinks: {q: {type: queue, suspend_steps: [2h, 0s, soon]}}", want: []string{":1:46: out_of_range: sinks.q.suspend_steps.1", ":1:50: bad_duration: sinks.q.suspend_steps.2"}},
		{name: "one suspend step", text: "sinks: {q: {type: queue, suspend_steps: 2h}}", want: []string{"wrong_type: sinks.q.suspend_steps takes a list, found a text"}},
		{name: "bad steps in a variable", text: "sinks: {q: {type: queue}}", env: []string{"TALLYMAN_SINKS__Q__SUSPEND_STEPS=2h,soon"}, want: []string{`TALLYMAN_SINKS__Q__SUSPEND_STEPS: bad_duration: sinks.q.suspend_steps: "soon"`}},
		{name: "events without a sink", text: "sinks: {q: {type: queue, events: {on: [dead]}}}", want: []string{"missing_field: sinks.q.events.sink is missing"}},
		{name: "events without any", text: "sinks: {out: {type: stdout}, q: {type: queue, events: {sink: out}}}", want: []string{"missing_field: sinks.q.events.on is missing"}},
		{
			name: "no events", text: "sinks: {out: {type: stdout}, q: {type: queue, events: {sink: out, on: []}}}",
			want: []string{":1:67: missing_field: sinks.q.events.on names no event"}, hint: "name some, or remove events",
		},
		{
			name: "unknown event", text: "sinks: {out: {type: stdout}, q: {type: queue, events: {sink: out, on: [dead, leased]}}}",
			want: []string{`:1:78: unknown_value: sinks.q.events.on.1 cannot be "leased"`}, hint: "one of ready_again, assigned, dead, done, removed",
		},
		{
			name: "an event twice", text: "sinks: {out: {type: stdout}, q: {type: queue, events: {sink: out, on: [dead, done, dead]}}}",
			want: []string{":1:84: duplicate_name: sinks.q.events.on names dead twice"}, hint: "remove one",
		},
		{
			name: "events to no sink", text: "sinks: {gateway: {type: stdout}, q: {type: queue, events: {sink: gatway, on: [dead]}}}",
			want: []string{`:1:66: unknown_sink: sinks.q.events.sink: no sink "gatway" is configured`}, hint: `did you mean "gateway"?`,
		},
		{
			name: "events to a queue", text: "sinks: {out: {type: stdout}, q: {type: queue, events: {sink: q, on: [dead]}}}",
			want: []string{":1:62: bad_event_sink: sinks.q.events.sink: the sink q is of type queue, which is no push channel"}, hint: "sinks that can get events: out",
		},
		{
			name: "events to subscribers", text: "sinks: {m: {type: mail, host: localhost, tls: none, from: a@example.com}, q: {type: queue, events: {sink: m, on: [dead]}}}",
			want: []string{"bad_event_sink: sinks.q.events.sink: the sink m makes a delivery for each subscriber, and none where there is no subscriber"},
			hint: "sinks that can get events: none; a webhook without each is one",
		},
		{
			name: "events under another strategy", text: "sinks: {out: {type: stdout}, q: {type: queue, events: {sink: out, on: [dead], within: 1h}}}",
			want: []string{":1:87: wrong_strategy: sinks.q.events.within: within belongs to strategy timed, but this entry has strategy immediate"}, hint: "set strategy: timed, or remove within",
		},
		{
			name: "events that wait for nothing", text: "sinks: {out: {type: stdout}, q: {type: queue, events: {sink: out, on: [dead], strategy: delayed}}}",
			want: []string{":1:89: missing_field: sinks.q.events.strategy: delay is missing"},
		},
		{
			name: "events that come too late", text: "sinks: {out: {type: stdout}, q: {type: queue, events: {sink: out, on: [dead], strategy: delayed, delay: 72h}}}",
			want: []string{"delivered_too_late: sinks.q.events.delay: a delay of 72h is not shorter than the life of a notice, which is 72h"}, hint: "make the delay shorter",
		},
		{
			name: "events unless read", text: "sinks: {out: {type: stdout}, q: {type: queue, events: {sink: out, on: [dead], unless: read}}}",
			want: []string{`unknown_field: there is no field "sinks.q.events.unless"`},
		},
		{
			name: "subscriptions", text: "subscriptions:\n- {type: A, warehouse: '*', subscriber: bob}\n- {type: A, warehouse: 'a b', subscriber: 'user:1'}\n- {subscriber: 'user:1'}",
			want: []string{`:2:41: bad_subscriber: "bob"`, `:3:24: bad_name: "a b"`, ":4:3: missing_field: subscriptions.2.type", ":4:3: missing_field: subscriptions.2.warehouse"},
		},
		{
			name: "subscriptions of a source", text: "sources: {wms: {driver: sqlite, url: \"sqlite:wms.db\"}}\nsubscriptions: {source: wsm, sql: SELECT 1, every: 1s}",
			want: []string{`:2:25: unknown_source: subscriptions.source: there is no source "wsm"`, ":2:52: out_of_range: subscriptions.every is 1s, at least 10s is needed"},
		},
		{name: "subscriptions of nothing", text: "subscriptions: {every: 1m}", want: []string{"missing_field: subscriptions.source is missing", "missing_field: subscriptions.sql is missing"}},
		{name: "subscriptions that are a text", text: "subscriptions: wms", want: []string{":1:16: wrong_type: subscriptions takes a list, found a text"}},
		{
			name: "everything at once", text: "auth: {mode: jwt}\nhttp: {port: 1}\nsinks: {a: {type: chat}}\nrules: 7",
			want: []string{":1:14: unknown_value", ":2:8: unknown_field", ":3:9: missing_field", ":4:8: wrong_type"},
		},
	})
}

// refused is a configuration that must be refused.
type refused struct {
	name, text string
	env        []string
	want       []string // the problems, each less the file's name
	hint       string   // of the first
}

func checkRefusals(t *testing.T, cases []refused) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(Options{Types: types(), File: write(t, c.text), Env: c.env})
			got := problemsOf(t, err)
			if len(got) != len(c.want) {
				t.Fatalf("want %d problems, got:\n%v", len(c.want), err)
			}
			for i, want := range c.want {
				if !strings.Contains(got[i].Error(), want) {
					t.Errorf("problem %d: want %s\ngot %s", i, want, got[i].Error())
				}
			}
			if c.hint != "" && got[0].Hint != c.hint {
				t.Errorf("want the hint %q, got %q", c.hint, got[0].Hint)
			}
		})
	}
}

func problemsOf(t *testing.T, err error) problem.List {
	t.Helper()
	var list problem.List
	if !errors.As(err, &list) {
		t.Fatalf("want a problem list, got %v", err)
	}
	return list
}

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
		{name: "header twice", text: hook(`headers: {X-A: x, x-a: y}`), want: []string{"bad_header: sinks.a.headers.x-a: upper and lower case do not matter"}},
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
		{name: "rate of none", text: out("rate: 0/s"), want: []string{"bad_rate: sinks.a.rate is 0/s; it must be 1 to 1000000"}, hint: "write none for no limit"},
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
		{name: "address of no form", text: hook(`each: user, address: "J Push"`), want: []string{"bad_address_name: sinks.a.address names no address of the address book"}},
		{name: "each of what", text: hook(`each: role`), want: []string{`unknown_value: sinks.a.each cannot be "role"`}},
		{name: "answer without a request", text: hook(`answer: {code: c, ok: 0}`), want: []string{"not_without_request: sinks.a.answer works only together with request"}},
		{name: "token without a request", text: hook(`token: {url: "https://h", value: t}`), want: []string{"not_without_request: sinks.a.token"}},
		{name: "values without a request", text: hook(`values: {a: b}`), want: []string{"not_without_request: sinks.a.values"}},
		{name: "address for nobody", text: hook(`address: phone`), want: []string{"not_without_request: sinks.a.address"}},
		{name: "batch of requests", text: hook(`batch: {max: 2}, request: {json: {}}`), want: []string{"batch_of_requests: sinks.a.batch"}},
		{name: "two bodies", text: hook(`request: {json: {}, form: {}}`), want: []string{"bad_request_body: sinks.a.request has several bodies: form, json"}},
		{name: "a list in a header", text: hook(`request: {headers: {X-A: [a, b]}}`), want: []string{"bad_request_body: sinks.a.request.headers takes a map of single values"}},
		{name: "a form in a form", text: hook(`request: {form: {a: {b: c}}}`), want: []string{"bad_request_body: sinks.a.request.form takes a map of single values"}},
		{name: "two elements", text: hook(`request: {xml: {a: 1, b: 2}}`), want: []string{"bad_request_body: sinks.a.request.xml: it is no map of one element"}},
		{name: "name of an element", text: hook(`request: {xml: {a: {"b c": 2}}}`), want: []string{`bad_request_body: sinks.a.request.xml: "b c" is no name of XML`}},
		{name: "path", text: hook(`request: {path: "a?b"}`), want: []string{"bad_request_path: sinks.a.request.path is no path"}},
		{name: "method", text: hook(`request: {method: TRACE}`), want: []string{`unknown_value: sinks.a.request.method cannot be "TRACE"`}},
		{name: "template", text: hook(`request: {json: {a: [x, "{{ .Title"]}}`), want: []string{":2:64: bad_template: sinks.a.request.json.a.1: the template cannot be read"}},
		{name: "field of a template", text: hook(`request: {json: {a: ["{{ .Titel }}"]}}`), want: []string{":2:61: bad_template: sinks.a.request.json.a.0: the template fails"}},
		{name: "value of a template", text: hook(`values: {k: v}, request: {query: {a: '{{ .Value "key" }}'}}`), want: []string{`bad_template: sinks.a.request.query.a: the template fails: tried on a sample: template: sinks.a.request.query.a:1:3: executing "sinks.a.request.query.a" at <.Value>: error calling Value: values has no "key"; it has: k`}},
		{name: "json of a template", text: hook(`request: {path: "/{{ .Token"}`), want: []string{"bad_template: sinks.a.request.path: the template cannot be read"}},
		{name: "header of a request", text: hook(`request: {headers: {Host: h}}`), want: []string{"bad_header: sinks.a.request.headers: Tallyman sets Host itself"}},
		{name: "answer without a code", text: hook(`request: {}, answer: {ok: 0}`), want: []string{"missing_field: sinks.a.answer.code is missing"}},
		{name: "answer without a success", text: hook(`request: {}, answer: {code: c}`), want: []string{"missing_field: sinks.a.answer.ok is missing"}},
		{name: "token from nowhere", text: hook(`request: {}, token: {url: "ftp://h", value: t}`), want: []string{"bad_url: sinks.a.token.url"}},
		{name: "token of a notice", text: hook(`request: {}, token: {url: "https://h", value: t, json: "{{ .Title }}"}`), want: []string{"bad_template: sinks.a.token.json: the template fails"}},
		{name: "token without a place", text: hook(`request: {}, token: {url: "https://h"}`), want: []string{"missing_field: sinks.a.token.value is missing"}},
		{name: "assertion without claims", text: hook(`request: {}, token: {url: "https://h", value: t, assertion: {key: k}}`), want: []string{"bad_request_body: sinks.a.token.assertion.claims takes a map"}},
		{name: "algorithm", text: hook(`request: {}, token: {url: "https://h", value: t, assertion: {key: k, algorithm: none, claims: {}}}`), want: []string{`unknown_value: sinks.a.token.assertion.algorithm cannot be "none"`}},
		{name: "address of a chat for all", text: `sinks: {a: {type: chat, url: "ntfy://ntfy.sh/{address}", address: alias}}`, want: []string{"bad_chat_address: sinks.a.address is for messages to one recipient each"}},
		{name: "address of a chat nowhere", text: `sinks: {a: {type: chat, url: "ntfy://ntfy.sh/x", each: user, address: alias}}`, want: []string{"bad_chat_address: sinks.a.address replaces {address}"}},
		{name: "no address of a chat", text: `sinks: {a: {type: chat, url: "ntfy://ntfy.sh/{address}", each: user}}`, want: []string{"missing_field: sinks.a.address is missing"}},
		{name: "mention", text: `sinks: {a: {type: chat, url: "ntfy://ntfy.sh/x", mention: "A B"}}`, want: []string{"bad_address_name: sinks.a.mention"}},
		{name: "field of another channel", text: out("url: x"), want: []string{`unknown_field: there is no field "sinks.a.url"`}, hint: "known fields: breaker, concurrency, format, rate, timeout, type"},
	})
}
