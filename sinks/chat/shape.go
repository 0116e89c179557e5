package chat

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/lark"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/teams"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/wecom"

	"tallyman/sinks/render"
)

// shape is the form of the messages and answers of a service. The generic service has it by its template.
type shape interface {
	// shaped makes the call; a secret signs it.
	shaped(m *message, to *url.URL, secret string, now time.Time) (*post, error)
	read(body []byte) error
}

// maxWeCom is the longest text of WeCom, in bytes.
const maxWeCom = 2_000

// The longest bodies, in bytes: DingTalk refuses a message of more than 20,000 bytes, Lark a request of more than 20 KB, Teams a message of
// more than 28 KB.
const (
	mostDingTalk = 20_000
	mostLark     = 20_000
	mostTeams    = 28_000
)

// clip cuts a text to so many bytes.
func clip(s string, n int) string { return render.ShortenBytes(s, n) }

// fitted makes the call with as much of the text as its body has room for. The text counts as it is encoded, in Lark's body once a language.
func fitted(to, text string, most int, body func(text string) any) (*post, error) {
	for n := min(len(text), most); ; n = n * 9 / 10 {
		p, err := jsonPost(to, body(clip(text, n)))
		if err != nil || len(p.body) <= most || n < 100 {
			return p, err
		}
	}
}

func firstLine(m *message) string {
	line, _, _ := strings.Cut(m.whole(), "\n")
	return line
}

// sign is what DingTalk and Lark call their signature: the same text is the key in one and the message in the other.
func sign(key, text string) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// dingTalkShape is that of DingTalk's custom robots.
type dingTalkShape struct{}

func (dingTalkShape) shaped(m *message, to *url.URL, secret string, now time.Time) (*post, error) {
	if secret != "" {
		signed := *to
		at := strconv.FormatInt(now.UnixMilli(), 10)
		query := signed.Query()
		query.Set("timestamp", at)
		query.Set("sign", sign(secret, at+"\n"+secret))
		signed.RawQuery = query.Encode()
		to = &signed
	}
	return fitted(to.String(), m.whole(), mostDingTalk, func(text string) any {
		body := map[string]any{"msgtype": "text", "text": map[string]string{"content": m.mention.line("@%s") + text}}
		if len(m.mention.all()) > 0 {
			body["at"] = map[string]any{"atUserIds": notNil(m.mention.ids), "atMobiles": notNil(m.mention.phones)}
		}
		return body
	})
}

func (dingTalkShape) mentions(bool) bool { return true }

// notNil is a list that is [] in JSON where it is empty.
func notNil(list []string) []string { return append([]string{}, list...) }

func (dingTalkShape) read(body []byte) error { return dingTalkCodes().read(body) }

// weComShape is that of the bots of WeCom's groups.
type weComShape struct{ users, phones []string }

func (w weComShape) shaped(m *message, to *url.URL, secret string, _ time.Time) (*post, error) {
	if secret != "" {
		return nil, fmt.Errorf("WeCom knows no secret beside the key")
	}
	text := map[string]any{"content": clip(m.whole(), maxWeCom)}
	for name, list := range map[string][]string{
		"mentioned_list": slices.Concat(w.users, m.mention.ids), "mentioned_mobile_list": slices.Concat(w.phones, m.mention.phones),
	} {
		if len(list) > 0 {
			text[name] = list
		}
	}
	return jsonPost(to.String(), map[string]any{"msgtype": "text", "text": text})
}

func (weComShape) mentions(bool) bool { return true }

func (weComShape) read(body []byte) error { return weComCodes().read(body) }

// larkShape is that of the custom bots of Lark and Feishu. A post, unlike a text, has no markup that could mention people.
type larkShape struct{}

func (larkShape) shaped(m *message, to *url.URL, secret string, now time.Time) (*post, error) {
	return fitted(to.String(), m.text, mostLark, func(text string) any {
		var content [][]map[string]string
		if len(m.mention.ids) > 0 {
			var line []map[string]string
			for _, id := range m.mention.ids {
				line = append(line, map[string]string{"tag": "at", "user_id": id})
			}
			content = append(content, line)
		}
		for line := range strings.SplitSeq(text, "\n") {
			content = append(content, []map[string]string{{"tag": "text", "text": line}})
		}
		words := map[string]any{"title": m.title, "content": content}
		body := map[string]any{"msg_type": "post", "content": map[string]any{"post": map[string]any{"zh_cn": words, "en_us": words}}}
		if secret != "" {
			at := strconv.FormatInt(now.Unix(), 10)
			body["timestamp"], body["sign"] = at, sign(at+"\n"+secret, "")
		}
		return body
	})
}

func (larkShape) mentions(phone bool) bool { return !phone }

func (larkShape) read(body []byte) error { return larkCodes().read(body) }

// teamsShape is that of the workflow "post to a channel when a webhook request is received": an adaptive card.
type teamsShape struct{ any2xx }

func (teamsShape) shaped(m *message, to *url.URL, secret string, _ time.Time) (*post, error) {
	if secret != "" {
		return nil, fmt.Errorf("the secret of a workflow is in its address")
	}
	return fitted(to.String(), m.text, mostTeams, func(text string) any {
		var blocks []map[string]any
		if m.title != "" {
			blocks = append(blocks, map[string]any{"type": "TextBlock", "text": plainMarkdown.Replace(m.title), "weight": "bolder", "size": "medium", "wrap": true})
		}
		for line := range strings.SplitSeq(text, "\n") {
			blocks = append(blocks, map[string]any{"type": "TextBlock", "text": plainMarkdown.Replace(line), "wrap": true})
		}
		return map[string]any{"type": "message", "attachments": []any{map[string]any{
			"contentType": "application/vnd.microsoft.card.adaptive",
			"content":     map[string]any{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": blocks},
		}}}
	})
}

// plainMarkdown keeps a text from making links in Teams.
var plainMarkdown = strings.NewReplacer("[", `\[`, "]", `\]`, "<", "&lt;")

// larkChat posts as a custom bot of Lark or Feishu.
type larkChat struct {
	config *lark.Config
	larkShape
}

func openLark(u *url.URL) (service, error) {
	if err := only(u, "secret"); err != nil {
		return nil, err
	}
	config := &lark.Config{}
	if config.SetURL(u) != nil {
		return nil, errForm("lark://open.larksuite.com/TOKEN or lark://open.feishu.cn/TOKEN")
	}
	return &larkChat{config, larkShape{}}, nil
}

func (l *larkChat) post(m *message, now time.Time) (*post, error) {
	to := url.URL{Scheme: "https", Host: l.config.Host, Path: "/open-apis/bot/v2/hook/" + l.config.Path}
	return l.shaped(m, &to, l.config.Secret, now)
}

// weComChat posts as a bot of a WeCom group.
type weComChat struct {
	config *wecom.Config
	weComShape
}

func openWeCom(u *url.URL) (service, error) {
	if err := only(u, "mentioned_list", "mentioned_mobile_list"); err != nil {
		return nil, err
	}
	config := &wecom.Config{}
	if config.SetURL(u) != nil {
		return nil, errForm("wecom://KEY")
	}
	return &weComChat{config, weComShape{users: list(config.MentionedList), phones: list(config.MentionedMobileList)}}, nil
}

func (w *weComChat) post(m *message, now time.Time) (*post, error) {
	to := url.URL{Scheme: "https", Host: "qyapi.weixin.qq.com", Path: "/cgi-bin/webhook/send", RawQuery: url.Values{"key": {w.config.Key}}.Encode()}
	return w.shaped(m, &to, "", now)
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// teamsChat posts by an incoming webhook of the old kind (webhook.office.com). Those of today, which are workflows, are called through
// the generic service with template=teams.
type teamsChat struct{ to string }

func openTeams(u *url.URL) (service, error) {
	const form = "teams://GROUP@TENANT/ALTID/GROUPOWNER/EXTRAID?host=ORG.webhook.office.com"
	if strings.Contains(u.Scheme, "+") {
		converted, err := (&teams.Service{}).GetConfigURLFromCustom(u)
		if err != nil {
			return nil, errForm("teams+https://ORG.webhook.office.com/webhookb2/… or " + form)
		}
		u = converted
	}
	if err := only(u, "host"); err != nil {
		return nil, err
	}
	config := &teams.Config{}
	if u.User == nil || config.SetURL(u) != nil {
		return nil, errForm(form)
	}
	to := teams.BuildWebhookURL(config.Host, config.Group, config.Tenant, config.AltID, config.GroupOwner, config.ExtraID)
	if to == "" {
		return nil, errForm(form)
	}
	return &teamsChat{to}, nil
}

func (t *teamsChat) post(m *message, _ time.Time) (*post, error) {
	return fitted(t.to, m.text, mostTeams, func(text string) any {
		return map[string]any{
			"@type": "MessageCard", "@context": "http://schema.org/extensions", "summary": firstLine(m), "themeColor": fmt.Sprintf("%06x", m.color()),
			"title": m.title, "text": strings.ReplaceAll(plainMarkdown.Replace(text), "\n", "\n\n"),
		}
	})
}

// read judges an answer: this service tells its errors in words, under the status of a success.
func (t *teamsChat) read(body []byte) error {
	told := strings.TrimSpace(string(body))
	if told == "" || told == "1" {
		return nil
	}
	if strings.Contains(told, "429") {
		return &laterError{after: busyFor, err: fmt.Errorf("the answer is %q", told)}
	}
	return fmt.Errorf("the answer is %q", told)
}

// busyFor is how long a service is left alone that has had too many messages and does not say for how long, where its limit is by the
// minute.
const busyFor = time.Minute

// codes are the codes of a service, under the status of a success, that say more than "not now". 0 is that it has taken the message. All others
// are about the robot: a wrong token or signature, a word or address that its settings want, a group that is gone. A person mends those, and then
// everything must arrive.
type codes struct {
	busy    []int // too many messages
	busyFor time.Duration
	message []int // it will never take this one
}

// dingTalkCodes are those of custom robots, which answer {"errcode":0,"errmsg":"ok"}:
// https://open.dingtalk.com/document/orgapp/custom-robots-send-group-messages. With more than 20 messages in a minute a robot is blocked for ten
// (410100; older servers say 130101). 4301xx are links and texts that it finds unfit, 460101 is more than 20,000 bytes. 40035 is a parameter that
// is missing, which is said of a URL without its token, too, and so not about the message; 310000 is the robot's security settings.
func dingTalkCodes() codes {
	return codes{busy: []int{130101, 410100}, busyFor: 10 * time.Minute, message: []int{430101, 430102, 430103, 430104, 460101}}
}

// weComCodes are those of the bots of groups, which answer {"errcode":0,"errmsg":"ok"}: https://developer.work.weixin.qq.com/document/path/91770,
// and the codes of all interfaces at https://developer.work.weixin.qq.com/document/path/90455. 45009 is more than 20 messages in a minute, 44004 an
// empty text, 45002 and 40058 one that is too long. 93000 is a wrong key. 40008, a kind of message that is not known, is not about what the text says.
func weComCodes() codes {
	return codes{busy: []int{45009}, busyFor: busyFor, message: []int{40058, 44004, 45002}}
}

// larkCodes are those of custom bots, which answer {"code":0,"msg":"success"}: https://open.feishu.cn/document/ukTMukTMukTM/ucTM5YjL3ETO24yNxkjN.
// 11232 is too many messages, of this bot or at a busy time; 19002 are parameters that it does not understand. 19021, 19022 and 19024 are its signature,
// its addresses and its keywords. 9499 says both that a body cannot be read and that there are too many requests, so it is tried again.
func larkCodes() codes {
	return codes{busy: []int{11232}, busyFor: busyFor, message: []int{19002}}
}

// errNoCode is the answer of something else than the robot that the template is for.
var errNoCode = errors.New("the answer has no code: the url may not be that of such a robot, see docs/how-to/channels.md")

// read judges an answer: errcode and errmsg, or code and msg.
func (c codes) read(body []byte) error {
	var told struct {
		ErrCode *int   `json:"errcode"`
		ErrMsg  string `json:"errmsg"`
		Code    *int   `json:"code"`
		Msg     string `json:"msg"`
	}
	if err := json.Unmarshal(body, &told); err != nil {
		return errNoCode
	}
	code, words := told.ErrCode, told.ErrMsg
	if code == nil {
		code, words = told.Code, told.Msg
	}
	switch {
	case code == nil:
		return errNoCode
	case *code == 0:
		return nil
	}
	err := fmt.Errorf("the answer is %d: %q", *code, words)
	switch {
	case slices.Contains(c.busy, *code):
		return &laterError{after: c.busyFor, err: err}
	case slices.Contains(c.message, *code):
		return &noticeError{err}
	default:
		return err
	}
}
