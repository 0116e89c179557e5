package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tallyman/rules/problem"
	"tallyman/sinks/mail"
	"tallyman/sinks/scrub"
	"tallyman/sinks/webhook"
)

func TestSecretTexts(t *testing.T) {
	t.Parallel()
	c := load(t, `
sinks:
  gateway:
    type: webhook
    url: "https://u:hunter2@gateway.example.com/hooks/t0k3n-of-it?key=ab%20cdefgh&format=json"
    secret: [whsec_c2VjcmV0c2VjcmV0, "raw secret"]
    headers: {Authorization: "Bearer b34r3r", X-Key: k3y5}
  mail: {type: mail, host: smtp.example.com, from: a@example.com, username: tallyman, password: p4ss}
  slack: {type: chat, url: "slack://hook:TAAAAAAAA-BBBBBBBBB-CCCCCCCCCCCCCCC@webhook"}
  ntfy: {type: chat, url: "ntfy://:n7fyp4ssw0rd@ntfy.sh/stock"}
  telegram: {type: chat, url: "telegram://110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw@telegram?chats=@stock"}
`)
	hide := scrub.New(c.Sinks.SecretTexts()...)
	for text, want := range map[string]string{
		`Post "https://u:***@gateway.example.com/hooks/t0k3n-of-it?key=ab%20cdefgh&format=json": dial tcp 10.0.0.1:443: refused`: `Post "https://u:***@gateway.example.com***": dial tcp 10.0.0.1:443: refused`,
		"GET /hooks/t0k3n-of-it is not there":                                                            "GET *** is not there",
		"no key ab cdefgh, no key ab+cdefgh":                                                             "no key ***, no key ***",
		"hunter2, Bearer b34r3r, b34r3r, k3y5":                                                           "***, ***, ***, ***",
		"c2VjcmV0c2VjcmV0, whsec_c2VjcmV0c2VjcmV0, raw secret":                                           "***, ***, ***",
		"535 p4ss is not the password of tallyman":                                                       "535 *** is not the password of tallyman",
		"slack said 404 for https://hooks.slack.com/services/TAAAAAAAA/BBBBBBBBB/CCCCCCCCCCCCCCC":        "slack said 404 for https://hooks.slack.com/services/***/***/***",
		"Post https://api.telegram.org/bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/sendMessage: 401": "Post https://api.telegram.org/bot***/sendMessage: 401",
		"401 by ntfy.sh for n7fyp4ssw0rd":                                                                "401 by ntfy.sh for ***",
		"the JSON of gateway.example.com is refused (400): bin":                                          "the JSON of gateway.example.com is refused (400): bin",
	} {
		if got := hide.Text(text, 1000); got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", text, got, want)
		}
	}
	if got := Sinks(nil).SecretTexts(); len(got) != 0 {
		t.Errorf("without secrets: %q", got)
	}
}

// A line is shown beside a problem only if each secret in it is a reference. ${ beside a password shows nothing.
func TestLinesWithPartsOfSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	for text, shown := range map[string]bool{
		`sources: {wms: {driver: postgres, url: "postgres://app:hunter2@${NOBODY_SETS_THIS}/wms"}}`:     false,
		`sources: {wms: {driver: postgres, url: "postgres://${NOBODY_SETS_THIS}:hunter2@db/wms"}}`:      false,
		`sources: {wms: {driver: postgres, url: "postgres://app:hunter2${NOBODY_SETS_THIS}@db/wms"}}`:   false,
		`sources: {wms: {driver: postgres, url: "postgres://app:${NOBODY_SETS_THIS}@db/wms"}}`:          true,
		`sources: {wms: {driver: postgres, url: "${NOBODY_SETS_THIS}"}}`:                                true,
		`sinks: {gateway: {type: webhook, url: "https://h/", secret: "hunter2${NOBODY_SETS_THIS}"}}`:    false,
		`sinks: {gateway: {type: webhook, url: "https://h/", secret: "${NOBODY_SETS_THIS}"}}`:           false, // the line has the url
		"sinks:\n  gateway:\n    type: webhook\n    url: https://h/\n    secret: ${NOBODY_SETS_THIS}\n": true,
	} {
		_, err := Load(Options{Types: types(), File: write(t, text)})
		found, ok := errors.AsType[problem.List](err)
		if !ok || len(found) == 0 || found[0].Code != CodeUnset {
			t.Fatalf("%s: %v", text, err)
		}
		if strings.Contains(err.Error(), "hunter2") || (found[0].Snippet != "") != shown {
			t.Errorf("%s: shown %q", text, found[0].Snippet)
		}
	}
}

// No error shows a secret, in whatever form.
func FuzzSecretTexts(f *testing.F) {
	f.Add("hunter22", "x-token-y")
	f.Add("%41%42%43%44%45%46", "a b")
	f.Fuzz(func(t *testing.T, secret, path string) {
		if len(secret) < 8 || strings.Contains("***", secret) {
			return
		}
		u := url.URL{Scheme: "https", User: url.UserPassword("u", secret), Host: "h", Path: "/" + path, RawQuery: url.Values{"key": {secret}}.Encode()}
		hide := scrub.New(Sinks{
			"w": &webhook.Settings{URL: NewSecret(u.String())},
			"m": &mail.Settings{Password: NewSecret(secret)},
		}.SecretTexts()...)
		for _, text := range []string{u.String(), u.RequestURI(), "is " + secret + "!", fmt.Sprintf("Get %s: no", u.Redacted())} {
			if got := hide.Text(text, 10000); strings.Contains(got, secret) {
				t.Errorf("%q stays in %q: %q", secret, text, got)
			}
		}
	})
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	const hidden = "hunter2"
	c := load(t, `
redis: {url: ["redis://:hunter2@r:6379/0"]}
ledger: {url: "postgres://u:hunter2@db1:5432,db2:5432/x?target_session_attrs=read-write"}
sources: {wms: {driver: postgres, url: "postgres://u:hunter2@db/x"}}
`)
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("loaded", "config", c, "url", c.Ledger.URL)
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	type inner struct{ secret Secret } // fmt calls no method of a field that is not exported
	shown := map[string]string{
		"slog": log.String(), "json": string(asJSON), "yaml": string(asYAML), "unexported": fmt.Sprintf("%+v", inner{c.Ledger.URL}),
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown[verb] = fmt.Sprintf(verb, *c) + fmt.Sprintf(verb, c.Ledger.URL)
	}
	for how, text := range shown {
		if strings.Contains(text, hidden) || strings.Contains(text, fmt.Sprintf("%x", hidden)) {
			t.Errorf("%s shows the secret: %s", how, text)
		}
	}
	if !strings.Contains(shown["json"], "***") {
		t.Errorf("json does not say that something is hidden: %s", shown["json"])
	}
	if NewSecret("").String() != "" || (Secret{}).Reveal() != "" {
		t.Error("an empty secret pretends to hide something")
	}
}

// No problem shows the line of a secret, whatever else is wrong with the line.
func TestLinesDoNotShowSecrets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`sinks: {p: {type: webhook, url: [hunter2]}}`,
		`sinks: {p: {type: webhook, url: {a: hunter2}}}`,
		`sinks: {p: {type: webhok, url: "https://hunter2"}}`,
		`sinks: {p: {type: webhook, url: "https://h/", headers: "Authorization: hunter2"}}`,
		`sinks: {p: {type: mail, host: h, from: a@b.de, password: [hunter2]}}`,
		`sinks: {p: {type: chat, url: ["slack://hook:hunter2@webhook"]}}`,
		`sinks: {p: {type: webhook, url: "https://hunter2`,
		"sinks:\n  p:\n    secret:\n      - whsec_hunter2\n     - x",
		`redis: {url: {a: "redis://:hunter2@r"}}`,
		`ledger: {url: "oracle://u:hunter2@x/x"}`,
		`ledger: {url: "postgres://u:hunter2@a:5432,b:5432"}`,
		`ledger: {url: "postgres://u:hunter2@a:5432,b/x?target_session_attrs=any"}`,
		`ledger: {url: "postgres://u:hunter2@[::1]:5432,b:x/x"}`,
		`sources: {wms: {driver: oracel, url: "oracle://u:hunter2@x/x"}}`,
	} {
		for _, rest := range []string{"", " # " + strings.Repeat("long ", 50)} { // A very long line is shown in part, with a caret of its own.
			_, err := Load(Options{Types: types(), File: write(t, text+rest)})
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v", text, err)
			}
			found, _ := errors.AsType[problem.List](err)
			for _, p := range found {
				if p.Snippet == "" && p.Caret != 0 {
					t.Errorf("%s: a caret at %d of a line that is not shown", text, p.Caret)
				}
			}
		}
	}
}

func TestProblemsDoNotShowSecrets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`redis: {url: "ftp://:%s@r:6379/0"}`,
		`redis: {url: "redis://:%s@[bad/0"}`,
		`ledger: {url: "postgres://u:%s@[bad/x"}`,
		`ledger: {url: "oracle://u:%s@x/x"}`,
		`sources: {wms: {driver: postgres, url: "u:%s@host"}}`,
		`sources: {wms: {driver: sqlite, url: "%s"}}`,
	} {
		// The value is not in the file, so the line that a problem shows does not have it either.
		_, err := Load(Options{Types: types(), File: write(t, fmt.Sprintf(text, "${HIDDEN}")), Env: []string{"HIDDEN=hunter2"}})
		if err == nil {
			t.Errorf("%s was accepted", text)
			continue
		}
		if strings.Contains(fmt.Sprintf("%+v %#v", err, err), "hunter2") {
			t.Errorf("%s: the error shows the secret: %v", text, err)
		}
	}
}

const withSecrets = `
redis: {url: "${REDIS_URL}"}
ledger: {url: "file:/nowhere/ledger"}
sources:
  wms: {driver: postgres, url: "postgres://u:${WMS_PASSWORD}@db/wms", max_connections: 2}
  pilot: {driver: sqlite, url: "sqlite:pilot.db"}
`

// Only a caller that needs a secret gets the reason why it could not be read.
func TestALazyLoadNeedsNoSecrets(t *testing.T) {
	t.Parallel()
	c, err := Load(Options{Types: types(), File: write(t, withSecrets), Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	if wms := c.Sources["wms"]; wms.Driver != Postgres || wms.MaxConnections != 2 || wms.URL.Reveal() != "" {
		t.Errorf("the source: %+v", wms)
	}
	if err := c.Need("sources", "pilot"); err != nil || c.Sources["pilot"].Path == "" {
		t.Errorf("a source without secrets: %v", err)
	}
	for part, code := range map[string]string{"redis": CodeUnset, "ledger": CodeFile, "sources": CodeUnset} {
		var l problem.List
		if err := c.Need(part); !errors.As(err, &l) || len(l) != 1 || l[0].Code != code || l[0].Line == 0 {
			t.Errorf("%s: %v", part, err)
		}
	}
	if err := c.Need("sources", "wms"); err == nil {
		t.Error("the source's password is not missed")
	}
}

func TestALazyLoadWithTheSecrets(t *testing.T) {
	t.Parallel()
	c, err := Load(Options{
		Types: types(), File: write(t, "sources: {wms: {driver: postgres, url: '${WMS_URL}'}}"), Lazy: true, Env: []string{"WMS_URL=postgres://u@db/wms"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Need("sources", "wms"); err != nil || c.Sources["wms"].URL.Reveal() != "postgres://u@db/wms" {
		t.Errorf("%+v, %v", c.Sources["wms"], err)
	}
}

func TestALazyLoadTellsWhatIsWrongAllTheSame(t *testing.T) {
	t.Parallel()
	for text, code := range map[string]string{
		"sources: {wms: {driver: postgre, url: '${WMS_URL}'}}":       "unknown_value",
		"sources: {wms: {driver: sqlite, url: '${a-b}'}}":            CodeReference,
		"sources: {wms: {driver: sqlite, url: 7}}":                   "wrong_type",
		"rules: {paths: ['${RULES}']}":                               CodeUnset,
		"sources: {wms: {driver: sqlite, url: 'postgres://x/y'}}":    CodeURL,
		"sources: {wms: {driver: postgres, uri: '${WMS_URL}'}}":      "unknown_field",
		"redis: {url: ['${REDIS_URL}', 'http://not-redis.example']}": "",
	} {
		_, err := Load(Options{Types: types(), File: write(t, text), Lazy: true})
		var l problem.List
		if code == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if !errors.As(err, &l) || l[0].Code != code {
			t.Errorf("%s: want %s, got %v", text, code, err)
		}
	}
}

// No problem shows the value of a reference, at whatever key of the reference of the configuration.
func TestProblemsDoNotShowReferences(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	keys := regexp.MustCompile("(?m)^\\| `([a-zA-Z_.]+)` ").FindAllStringSubmatch(string(page), -1)
	if len(keys) < 100 {
		t.Fatalf("the page has %d keys", len(keys))
	}
	refused, file, kinds := 0, write(t, ""), types()
	for _, key := range keys {
		path := strings.Split(strings.ReplaceAll(key[1], "NAME", "name"), ".")
		channels := []string{""}
		if path[0] == "sinks" && key[1] != "sinks.NAME.type" {
			channels = []string{"webhook", "mail", "chat", "queue", "inbox", "stdout"}
		}
		for _, channel := range channels {
			for _, value := range []string{`"${HIDDEN}"`, `["${HIDDEN}"]`} {
				text := value
				for i, name := range slices.Backward(path) {
					if text = name + ": " + text; i == 2 && channel != "" {
						text = "type: " + channel + ", " + text
					}
					text = "{" + text + "}"
				}
				for _, hidden := range []string{"hunter2", "-31337", "31337x", `{{hunter2 "`} {
					if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
					_, err := Load(Options{Types: kinds, File: file, Env: []string{"HIDDEN=" + hidden}})
					if err == nil {
						continue
					}
					refused++
					if said := fmt.Sprintf("%+v %#v", err, err); strings.Contains(said, "hunter2") || strings.Contains(said, "31337") {
						t.Errorf("%s with %s: %v", text, hidden, err)
					}
				}
			}
		}
	}
	if refused < 1000 {
		t.Errorf("only %d values were refused", refused)
	}
}
