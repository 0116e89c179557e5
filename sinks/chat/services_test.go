package chat

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/sinks/scrub"
)

// example is a service as in docs/how-to/channels.md, with the request that its server gets for the delivery of the tests.
type example struct {
	url     string
	uri     string
	body    string
	header  map[string]string
	ok      string   // what the server says when it takes it
	secrets []string // of the URL
}

func examples() map[string]example {
	const slackToken = "T00AAAAAA-B00BBBBBB-cccccccccccccccccccccccc"
	const text = `S1 &amp; &lt;S2&gt; went to -3.\nReplenish \"it\" @all.`
	const plain = `S1 & <S2> went to -3.\nReplenish \"it\" @all.`
	post := `[[{"tag":"text","text":"S1 & <S2> went to -3."}],[{"tag":"text","text":"Replenish \"it\" @all."}]]`
	lark := `{"msg_type":"post","timestamp":"1780272600","sign":"LARKSIGN","content":{"post":{"zh_cn":{"title":"Bin A-01 is at -3","content":` + post +
		`},"en_us":{"title":"Bin A-01 is at -3","content":` + post + `}}}}`
	return map[string]example{
		"slack webhook": {
			url: "slack://hook:" + slackToken + "@webhook?botname=Tally", uri: "/services/T00AAAAAA/B00BBBBBB/cccccccccccccccccccccccc",
			body: `{"username":"Tally","text":"*Bin A-01 is at -3*\n` + text + `"}`, ok: "ok", secrets: []string{slackToken, "cccccccccccccccccccccccc"},
		},
		"slack bot": {
			url: "slack://xoxb:123456789012-1234567890123-4mt0t4l1YL3g1T5L4cK70k3N@C001CHANNEL", uri: "/api/chat.postMessage", ok: `{"ok":true}`,
			header: map[string]string{"Authorization": "Bearer xoxb-123456789012-1234567890123-4mt0t4l1YL3g1T5L4cK70k3N"},
			body:   `{"channel":"C001CHANNEL","text":"*Bin A-01 is at -3*\n` + text + `"}`, secrets: []string{"4mt0t4l1YL3g1T5L4cK70k3N"},
		},
		"teams connector": {
			url: "teams://11111111-4444-4444-8444-cccccccccccc@22222222-4444-4444-8444-cccccccccccc/33333333012222222222333333333344/44444444-4444-4444-8444-cccccccccccc/V2ESyij_gAljSoUQHvZoZYzlpAoAXExyOl26dlf1xHEx05?host=contoso.webhook.office.com",
			uri: "/webhookb2/11111111-4444-4444-8444-cccccccccccc@22222222-4444-4444-8444-cccccccccccc/IncomingWebhook/33333333012222222222333333333344/44444444-4444-4444-8444-cccccccccccc/V2ESyij_gAljSoUQHvZoZYzlpAoAXExyOl26dlf1xHEx05",
			body: `{"@type":"MessageCard","@context":"http://schema.org/extensions","summary":"Bin A-01 is at -3","themeColor":"c62828","title":"Bin A-01 is at -3",` +
				`"text":"S1 & &lt;S2> went to -3.\n\nReplenish \"it\" @all."}`, ok: "1", secrets: []string{"V2ESyij_gAljSoUQHvZoZYzlpAoAXExyOl26dlf1xHEx05", "33333333012222222222333333333344"},
		},
		"teams workflow": {
			url: "generic://prod-12.westeurope.logic.azure.com/workflows/abc/triggers/manual/paths/invoke?template=teams&api-version=2016-06-01&sig=s1gn4tur3-0f-th3-fl0w",
			uri: "/workflows/abc/triggers/manual/paths/invoke?api-version=2016-06-01&sig=s1gn4tur3-0f-th3-fl0w", ok: "", secrets: []string{"s1gn4tur3-0f-th3-fl0w"},
			body: `{"type":"message","attachments":[{"contentType":"application/vnd.microsoft.card.adaptive","content":{"$schema":"http://adaptivecards.io/schemas/adaptive-card.json",` +
				`"type":"AdaptiveCard","version":"1.4","body":[{"type":"TextBlock","text":"Bin A-01 is at -3","weight":"bolder","size":"medium","wrap":true},` +
				`{"type":"TextBlock","text":"S1 & &lt;S2> went to -3.","wrap":true},{"type":"TextBlock","text":"Replenish \"it\" @all.","wrap":true}]}}]}`,
		},
		"telegram": {
			url: "telegram://110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw@telegram?chats=-100123", uri: "/bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/sendMessage", ok: `{"ok":true}`,
			body: `{"chat_id":"-100123","text":"<b>Bin A-01 is at -3</b>\nS1 &amp; &lt;S2&gt; went to -3.\nReplenish &#34;it&#34; @all.","parse_mode":"HTML",` +
				`"disable_notification":false,"link_preview_options":{"is_disabled":false}}`, secrets: []string{"AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"},
		},
		"discord": {
			url: "discord://t0k3n-0f-d1sc0rd@987654321", uri: "/api/webhooks/987654321/t0k3n-0f-d1sc0rd", secrets: []string{"t0k3n-0f-d1sc0rd"},
			body: `{"embeds":[{"title":"Bin A-01 is at -3","description":"` + plain + `","color":12986408}],"allowed_mentions":{"parse":[]}}`,
		},
		"dingtalk": {
			url: "generic://oapi.dingtalk.com/robot/send?access_token=d1ngt4lk-t0k3n&template=dingtalk&secret=SECd1ngt4lk", ok: `{"errcode":0,"errmsg":"ok"}`,
			uri:  "/robot/send?access_token=d1ngt4lk-t0k3n&sign=" + "DINGSIGN" + "&timestamp=1780272600000",
			body: `{"msgtype":"text","text":{"content":"Bin A-01 is at -3\n` + plain + `"}}`, secrets: []string{"d1ngt4lk-t0k3n", "SECd1ngt4lk"},
		},
		"wecom": {
			url: "wecom://693axxx6-7aoc-4bc4-97a0-0ec2sifa5aaa?mentioned_list=wangqing,li", uri: "/cgi-bin/webhook/send?key=693axxx6-7aoc-4bc4-97a0-0ec2sifa5aaa",
			ok: `{"errcode":0}`, body: `{"msgtype":"text","text":{"content":"Bin A-01 is at -3\n` + plain + `","mentioned_list":["wangqing","li"]}}`,
			secrets: []string{"693axxx6-7aoc-4bc4-97a0-0ec2sifa5aaa"},
		},
		"wecom by generic": {
			url: "generic://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=693axxx6-7aoc&template=wecom", uri: "/cgi-bin/webhook/send?key=693axxx6-7aoc",
			ok: `{"errcode":0}`, body: `{"msgtype":"text","text":{"content":"Bin A-01 is at -3\n` + plain + `"}}`, secrets: []string{"693axxx6-7aoc"},
		},
		"lark": {
			url: "lark://open.larksuite.com/l4rk-t0k3n-0f-b0t?secret=l4rk-s3cr3t", uri: "/open-apis/bot/v2/hook/l4rk-t0k3n-0f-b0t", body: lark,
			ok: `{"code":0,"msg":"success","data":{}}`, secrets: []string{"l4rk-t0k3n-0f-b0t", "l4rk-s3cr3t"},
		},
		"lark by generic": {
			url: "generic://open.feishu.cn/open-apis/bot/v2/hook/l4rk-t0k3n-0f-b0t?template=lark&secret=l4rk-s3cr3t", uri: "/open-apis/bot/v2/hook/l4rk-t0k3n-0f-b0t", body: lark,
			ok: `{"code":0}`, secrets: []string{"l4rk-t0k3n-0f-b0t", "l4rk-s3cr3t"},
		},
		"mattermost": {
			url: "mattermost://Tally@chat.example.com/m4tt3rm0st-t0k3n/town-square", uri: "/hooks/m4tt3rm0st-t0k3n", ok: "ok", secrets: []string{"m4tt3rm0st-t0k3n"},
			body: `{"username":"Tally","channel":"town-square","text":"**Bin A-01 is at -3**\nS1 & <S2> went to -3.\nReplenish \"it\" @` + "\u200b" + `all."}`,
		},
		"ntfy": {
			url: "ntfy://tally:ntfy-p4ssw0rd@ntfy.example.com/st0ck-topic?tags=warning", uri: "/st0ck-topic", body: "S1 & <S2> went to -3.\nReplenish \"it\" @all.",
			header: map[string]string{"Title": "Bin A-01 is at -3", "Priority": "4", "Tags": "warning", "Authorization": "Basic dGFsbHk6bnRmeS1wNHNzdzByZA=="},
			ok:     `{"id":"x"}`, secrets: []string{"ntfy-p4ssw0rd", "st0ck-topic", "dGFsbHk6bnRmeS1wNHNzdzByZA=="},
		},
		"gotify": {
			url: "gotify://push.example.com/sub/Ag0t1fyT0k3n...", uri: "/sub/message", header: map[string]string{"X-Gotify-Key": "Ag0t1fyT0k3n..."}, ok: `{"id":1}`,
			body: `{"message":"` + plain + `","title":"Bin A-01 is at -3","priority":8,"extras":null}`, secrets: []string{"Ag0t1fyT0k3n..."},
		},
		"generic json": {
			url: "generic+https://hooks.example.com/in/g3n3r1c-t0k3n?template=json&messagekey=text&$source=tally&@X-Token=h34d3r-t0k3n", uri: "/in/g3n3r1c-t0k3n",
			header: map[string]string{"X-Token": "h34d3r-t0k3n", "Idempotency-Key": "n_aaaaaaaaaaaaaaaaaaaaaaaaaa", "Content-Type": "application/json"},
			body:   `{"source":"tally","title":"Bin A-01 is at -3","text":"` + plain + `"}`, secrets: []string{"g3n3r1c-t0k3n", "h34d3r-t0k3n"},
		},
		"generic text": {
			url: "generic://hooks.example.com/in?method=PUT", uri: "/in", header: map[string]string{"Content-Type": "text/plain; charset=utf-8"},
			body: "Bin A-01 is at -3\nS1 & <S2> went to -3.\nReplenish \"it\" @all.",
		},
	}
}

// at is the time of the calls in the examples. Their signatures were made by openssl.
var at = time.Date(2026, 6, 1, 0, 10, 0, 0, time.UTC)

// signatures are those of the examples at that time, as openssl makes them:
//
//	printf '1780272600000\nSECd1ngt4lk' | openssl dgst -sha256 -hmac SECd1ngt4lk -binary | base64
//	openssl dgst -sha256 -mac hmac -macopt hexkey:HEX -binary /dev/null | base64    # HEX is 1780272600\nl4rk-s3cr3t
var signatures = strings.NewReplacer("DINGSIGN", url.QueryEscape("s4TIKgdZSlCMl53V3kExcxBdXAndpveJ30gDv2VsYAU="), "LARKSIGN", "4iisxA2cS9e6GPxjCUZ7UZpnfhgXay2Ng9ZteZALQS4=")

func TestEachServiceGetsWhatItUnderstands(t *testing.T) {
	t.Parallel()
	for name, e := range examples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := tlsServer(t)
			server.Always(testenv.ReplyStatus(http.StatusOK, e.ok))
			c := reach(t, server, Options{URL: e.url, Title: true, Version: "1.2.3", Now: func() time.Time { return at }})
			if err := push(t, c); err != nil {
				t.Fatal(err)
			}
			got := server.Requests()[0]
			if want := signatures.Replace(e.uri); got.URI != want {
				t.Errorf("called %s, want %s", got.URI, want)
			}
			if want := signatures.Replace(e.body); !same(t, got.Body, want) {
				t.Errorf("sent\n%s\nwant\n%s", got.Body, want)
			}
			for name, value := range e.header {
				if got.Header.Get(name) != value {
					t.Errorf("%s: %q, want %q", name, got.Header.Get(name), value)
				}
			}
			if agent := got.Header.Get("User-Agent"); agent != "tallyman/1.2.3" {
				t.Errorf("User-Agent: %q", agent)
			}
		})
	}
}

// TestNoServiceShowsItsSecrets has a server for each example that repeats everything it got.
func TestNoServiceShowsItsSecrets(t *testing.T) {
	t.Parallel()
	statuses := []int{http.StatusOK, http.StatusFound, http.StatusBadRequest, http.StatusForbidden, http.StatusTooManyRequests, http.StatusInternalServerError}
	for name, e := range examples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := tlsServer(t)
			c := reach(t, server, Options{URL: e.url, Title: true, Now: func() time.Time { return at }})
			for _, status := range statuses {
				server.Always(testenv.ReplyEcho(status))
				hides(t, push(t, c), e)
			}
			server.Always(testenv.ReplyEcho(http.StatusForbidden))
			if err := push(t, c); len(e.secrets) > 0 && !strings.Contains(err.Error(), scrub.Hidden) {
				t.Errorf("the server gave nothing away: %v", err)
			}
			server.Always(testenv.ReplyReset)
			hides(t, push(t, c), e)
			server.Close()
			hides(t, push(t, c), e)
		})
	}
}

func hides(t *testing.T, err error, e example) {
	t.Helper()
	if err == nil {
		return
	}
	for _, secret := range append(slices.Clone(e.secrets), e.url) {
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
			if strings.Contains(err.Error(), form) {
				t.Errorf("shows %q: %v", form, err)
			}
		}
	}
}

// The documentation promises exactly these services.
func TestExamplesAreOfEachService(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, e := range examples() {
		kind, _, _ := strings.Cut(e.url, ":")
		kind, _, _ = strings.Cut(kind, "+")
		seen[kind] = true
	}
	if !maps.Equal(seen, maps.Collect(func(yield func(string, bool) bool) {
		for name := range services() {
			if !yield(name, true) {
				return
			}
		}
	})) {
		t.Errorf("examples of %v", slices.Sorted(maps.Keys(seen)))
	}
}
