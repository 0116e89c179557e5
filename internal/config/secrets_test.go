package config

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

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

// Whatever is secret, and however an error writes it, it is not shown.
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
