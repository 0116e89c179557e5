package chat

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/sinks"
)

// verdict is the result of a push as a text: sent, refused, later 7s, again.
func verdict(err error) string {
	if err == nil {
		return "sent"
	}
	if _, ok := errors.AsType[*sinks.RefusedError](err); ok {
		return "refused"
	}
	if later, ok := errors.AsType[*sinks.LaterError](err); ok {
		return "later " + later.After.String()
	}
	return "again"
}

// TestWhatAnAnswerMeans separates faults of the notice from faults of the chat.
func TestWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	all := examples()
	for _, test := range []struct {
		service string
		status  int
		body    string
		header  []string
		want    string
	}{
		{"generic json", 204, "", nil, "sent"},
		{"generic json", 302, "", []string{"Location", "http://127.0.0.1/"}, "again"},
		{"generic json", 400, "", nil, "refused"},
		{"generic json", 401, "", nil, "again"},
		{"generic json", 404, "", nil, "again"},
		{"generic json", 413, "", nil, "refused"},
		{"generic json", 429, "", nil, "again"},
		{"generic json", 429, "", []string{"Retry-After", "7"}, "later 7s"},
		{"generic json", 503, "", []string{"Retry-After", "99999999999999999999"}, "later 1h0m0s"},
		{"generic json", 503, "", []string{"Retry-After", "Mon, 01 Jun 2026 00:10:30 GMT"}, "later 30s"},
		{"generic json", 503, "", []string{"Retry-After", "NaN"}, "again"},
		{"generic json", 503, "", []string{"Retry-After", "-1"}, "again"},
		{"generic json", 500, "", []string{"Retry-After", "7"}, "again"},
		{"slack webhook", 400, "invalid_payload", nil, "refused"},
		{"slack webhook", 404, "no_service", nil, "again"},
		{"slack bot", 200, `{"ok":false,"error":"msg_too_long"}`, nil, "refused"},
		{"slack bot", 200, `{"ok":false,"error":"channel_not_found"}`, nil, "again"},
		{"slack bot", 200, `<html>`, nil, "again"},
		{"telegram", 400, `{"ok":false,"description":"Bad Request: chat not found"}`, nil, "again"},
		{"telegram", 400, `{"ok":false,"description":"Bad Request: message is too long"}`, nil, "refused"},
		{"telegram", 400, `?`, nil, "refused"},
		{"telegram", 403, `{"ok":false,"description":"Forbidden: bot was kicked"}`, nil, "again"},
		{"telegram", 429, `{"ok":false,"parameters":{"retry_after":5}}`, nil, "later 5s"},
		{"telegram", 200, `{"ok":false,"description":"?"}`, nil, "again"},
		{"telegram", 200, `?`, nil, "again"},
		{"discord", 429, `{"retry_after":0.5}`, nil, "later 500ms"},
		{"teams connector", 200, "1", nil, "sent"},
		{"teams connector", 200, "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429", nil, "later 1m0s"},
		{"teams connector", 200, "Summary or Text is required.", nil, "again"},
		{"teams workflow", 202, "", nil, "sent"},
		{"dingtalk", 200, `{"errcode":310000,"errmsg":"keywords not in content"}`, nil, "again"},
		{"dingtalk", 200, `{"errcode":40035,"errmsg":"缺少参数 access_token"}`, nil, "again"},
		{"dingtalk", 200, `{"errcode":300005,"errmsg":"token is not exist"}`, nil, "again"},
		{"dingtalk", 200, `{"errcode":430102,"errmsg":"含有不合适的文本"}`, nil, "refused"},
		{"dingtalk", 200, `{"errcode":460101,"errmsg":"message too long, exceed 20000 bytes"}`, nil, "refused"},
		{"dingtalk", 200, `{"status":1111,"wait":5,"errcode":130101,"errmsg":"send too fast, exceed 20 times per minute"}`, nil, "later 10m0s"},
		{"dingtalk", 200, `{"errcode":410100,"errmsg":"发送速度太快而限流"}`, nil, "later 10m0s"},
		{"dingtalk", 200, `{}`, nil, "again"},
		{"dingtalk", 200, `<html>`, nil, "again"},
		{"wecom", 200, `{"errcode":93000,"errmsg":"invalid webhook url"}`, nil, "again"},
		{"wecom", 200, `{"errcode":44004,"errmsg":"empty content"}`, nil, "refused"},
		{"wecom", 200, `{"errcode":40058,"errmsg":"text.content exceed max length 5120. invalid Request Parameter"}`, nil, "refused"},
		{"wecom", 200, `{"errcode":40008,"errmsg":"invalid message type"}`, nil, "again"},
		{"lark", 200, `{"code":19021,"msg":"sign match fail"}`, nil, "again"},
		{"lark", 200, `{"code":9499,"msg":"Bad Request"}`, nil, "again"},
		{"lark", 200, `{"code":11232,"msg":"frequency limited"}`, nil, "later 1m0s"},
		{"wecom", 200, `{"errcode":45009,"errmsg":"api freq out of limit"}`, nil, "later 1m0s"},
		{"lark", 200, `{"code":19002,"msg":"params error, msg_type need"}`, nil, "refused"},
		{"lark", 200, `{"code":19024,"msg":"Key Words Not Found"}`, nil, "again"},
	} {
		server := tlsServer(t)
		server.Always(testenv.ReplyStatus(test.status, test.body, test.header...))
		c := reach(t, server, Options{URL: all[test.service].url, Now: func() time.Time { return at }})
		if got := verdict(push(t, c)); got != test.want {
			t.Errorf("%s: %d %s %v: %s, want %s", test.service, test.status, test.body, test.header, got, test.want)
		}
		if test.status == http.StatusFound && server.Asked() != 1 {
			t.Errorf("the redirect was followed")
		}
	}
}

func TestErrorsSayWhatTheServerSaid(t *testing.T) {
	t.Parallel()
	server := tlsServer(t)
	c := reach(t, server, Options{URL: examples()["slack webhook"].url})
	server.Always(testenv.ReplyStatus(http.StatusForbidden, "action_prohibited\n"+strings.Repeat("long ", 30_000)))
	err := push(t, c)
	if !strings.HasPrefix(err.Error(), "chat: slack: 403 Forbidden: action_prohibited long") || len(err.Error()) > 700 || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}

// A text without an end, or a slow one, must not hold up a push. A service that answers 200 has taken the message,
// unless its text says otherwise.
func TestAnswersThatDoNotEnd(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]testenv.HTTPReply{
		"huge": testenv.ReplyHuge(http.StatusOK), "slow": testenv.ReplySlowly(http.StatusOK, 50*time.Millisecond), "cut": testenv.ReplyCut(http.StatusOK, `{"errcode":0`),
	} {
		for service, want := range map[string]string{"generic json": "sent", "discord": "sent", "wecom": "again"} {
			t.Run(name+" "+service, func(t *testing.T) {
				t.Parallel()
				server := tlsServer(t)
				server.Always(reply)
				c := reach(t, server, Options{URL: examples()[service].url})
				if err := push(t, c); verdict(err) != want {
					t.Errorf("%s: %v, want %s", verdict(err), err, want)
				}
			})
		}
	}
}
