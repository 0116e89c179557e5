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

// shape makes the messages of a service, and reads the answers of the service. The generic service uses a shape if the
// template names it.
type shape interface {
	// shaped makes the call. If secret is not empty, it signs the message.
	shaped(m *message, to *url.URL, secret string, now time.Time) (*post, error)
	read(body []byte) error
}

// maxWeCom is the longest text of WeCom, in bytes.
const maxWeCom = 2_000

// The longest bodies, in bytes. DingTalk refuses a message of more than 20,000 bytes, Lark a request of more than 20
// KB, and Teams a message of more than 28 KB.
const (
	mostDingTalk = 20_000
	mostLark     = 20_000
	mostTeams    = 28_000
)

// fitted makes the call with as much of the text as the body can hold. fitted measures the encoded body, because
// encoding makes a text longer, and because Lark's body has the text once for each language.
func fitted(to, text string, most int, body func(text string) any) (*post, error) {
	text = fit(text, func(text string) bool {
		p, err := jsonPost(to, body(text))
		return err != nil || len(p.body) <= most
	})
	return jsonPost(to, body(text))
}

func firstLine(m *message) string {
	line, _, _ := strings.Cut(m.whole(), "\n")
	return line
}

// sign returns a signature for DingTalk or Lark. For DingTalk, the key is the secret. For Lark, the key is the time and
// the secret, and the text is empty.
func sign(key, text string) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// dingTalkShape is the shape of DingTalk's custom robots.
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

// notNil returns a list that becomes [] in JSON if it is empty, instead of null.
func notNil(list []string) []string { return append([]string{}, list...) }

func (dingTalkShape) read(body []byte) error { return dingTalkCodes().read(body) }

// weComShape is the shape of the bots of WeCom groups.
type weComShape struct{ users, phones []string }

func (w weComShape) shaped(m *message, to *url.URL, secret string, _ time.Time) (*post, error) {
	if secret != "" {
		return nil, fmt.Errorf("WeCom takes no secret, only the key in the url")
	}
	text := map[string]any{"content": render.ShortenBytes(m.whole(), maxWeCom)}
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

// larkShape is the shape of the custom bots of Lark and Feishu. larkShape makes a "post" and not a "text", because a
// text has markup that could mention people.
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

// teamsShape is the shape of the Teams workflow "post to a channel when a webhook request is received". teamsShape
// makes an adaptive card.
type teamsShape struct{ any2xx }

func (teamsShape) shaped(m *message, to *url.URL, secret string, _ time.Time) (*post, error) {
	if secret != "" {
		return nil, fmt.Errorf("a workflow takes no parameter secret: its address contains the secret")
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

// plainMarkdown prevents a text from making links in Teams. It escapes the backslash too: otherwise a backslash of the
// text would take away the effect of the one before a bracket.
var plainMarkdown = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "<", "&lt;")

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

// teamsChat posts through an incoming webhook of the old kind (webhook.office.com). The new kind is a workflow. The
// generic service calls it, with template=teams.
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
			"title": plainMarkdown.Replace(m.title), "text": strings.ReplaceAll(plainMarkdown.Replace(text), "\n", "\n\n"),
		}
	})
}

// read judges an answer. This service answers with a success status even for errors, and tells them in words.
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

// busyFor is the pause after too many messages, for services that have a limit by the minute and do not say how long to
// wait.
const busyFor = time.Minute

// codes has the codes that a service sends with a success status. 0 means that the service took the message. Codes that
// are not listed are about the robot: a wrong token or signature, a word or address that its settings forbid or
// require, a deleted group. A person has to repair the cause, and after that every message must arrive.
type codes struct {
	busy    []int // codes for too many messages
	busyFor time.Duration
	message []int // codes for a message that will never be taken
}

// dingTalkCodes has the codes of custom robots, which answer {"errcode":0,"errmsg":"ok"}. See
// https://open.dingtalk.com/document/orgapp/custom-robots-send-group-messages.
//
//   - 410100 (130101 from older servers): more than 20 messages in a minute; the robot is blocked for ten minutes.
//   - 4301xx: the service refuses the links or the text.
//   - 460101: more than 20,000 bytes.
//   - 40035: a parameter is missing. It is not listed, because a URL without its token gets it, too.
//   - 310000: the security settings of the robot. It is not listed, because it is not about the message.
func dingTalkCodes() codes {
	return codes{busy: []int{130101, 410100}, busyFor: 10 * time.Minute, message: []int{430101, 430102, 430103, 430104, 460101}}
}

// weComCodes has the codes of the bots of groups, which answer {"errcode":0,"errmsg":"ok"}. See
// https://developer.work.weixin.qq.com/document/path/91770, and for the codes of all interfaces
// https://developer.work.weixin.qq.com/document/path/90455.
//
//   - 45009: more than 20 messages in a minute.
//   - 44004: an empty text.
//   - 45002 and 40058: a text that is too long.
//   - 93000: a wrong key. It is not listed, because it is not about the message.
//   - 40008: an unknown kind of message. It is not listed, because it is not about the text.
func weComCodes() codes {
	return codes{busy: []int{45009}, busyFor: busyFor, message: []int{40058, 44004, 45002}}
}

// larkCodes has the codes of custom bots, which answer {"code":0,"msg":"success"}. See
// https://open.feishu.cn/document/ukTMukTMukTM/ucTM5YjL3ETO24yNxkjN.
//
//   - 11232: too many messages, from this bot or at a busy time.
//   - 19002: parameters that the service does not understand.
//   - 19021, 19022 and 19024: the signature, the allowed addresses and the keywords of the bot. They are not listed.
//   - 9499: a body that cannot be read, or too many requests. It is not listed, so that the message is tried again.
func larkCodes() codes {
	return codes{busy: []int{11232}, busyFor: busyFor, message: []int{19002}}
}

// errNoCode means that something else than the expected robot has answered.
var errNoCode = errors.New("the answer has no code: the url is perhaps not the url of such a robot, see docs/how-to/channels.md")

// read judges an answer with errcode and errmsg, or with code and msg.
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
