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

	"tallyman/sinks/render"
)

// shape is the form of the messages and answers of a service. The generic service has it by its template.
type shape interface {
	// shaped makes the call; a secret signs it.
	shaped(m *message, to *url.URL, secret string, now time.Time) (*post, error)
	read(body []byte) error
}

// The longest texts, in bytes.
const (
	maxDingTalk = 15_000
	maxWeCom    = 2_000
	maxLark     = 15_000
	maxTeams    = 15_000
)

// busyFor is how long a service is left alone that has had too many messages and does not say for how long: their limits are by the
// minute.
const busyFor = time.Minute

// clip cuts a text to so many bytes.
func clip(s string, n int) string { return render.ShortenBytes(s, n) }

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
	return jsonPost(to.String(), map[string]any{"msgtype": "text", "text": map[string]string{"content": clip(m.whole(), maxDingTalk)}})
}

// read judges an answer. 130101 is too many messages in a minute; 40035 a message that cannot be read.
func (dingTalkShape) read(body []byte) error { return readCode(body, []int{130101}, []int{40035}) }

// weComShape is that of the bots of WeCom's groups.
type weComShape struct{ users, phones []string }

func (w weComShape) shaped(m *message, to *url.URL, secret string, _ time.Time) (*post, error) {
	if secret != "" {
		return nil, fmt.Errorf("WeCom knows no secret beside the key")
	}
	text := map[string]any{"content": clip(m.whole(), maxWeCom)}
	if len(w.users) > 0 {
		text["mentioned_list"] = w.users
	}
	if len(w.phones) > 0 {
		text["mentioned_mobile_list"] = w.phones
	}
	return jsonPost(to.String(), map[string]any{"msgtype": "text", "text": text})
}

// read judges an answer. 45009 is too many messages in a minute; the others are about the message.
func (weComShape) read(body []byte) error {
	return readCode(body, []int{45009}, []int{40008, 40058, 44004, 45002})
}

// larkShape is that of the custom bots of Lark and Feishu. A post, unlike a text, has no markup that could mention people.
type larkShape struct{}

func (larkShape) shaped(m *message, to *url.URL, secret string, now time.Time) (*post, error) {
	var content [][]map[string]string
	for line := range strings.SplitSeq(clip(m.text, maxLark), "\n") {
		content = append(content, []map[string]string{{"tag": "text", "text": line}})
	}
	words := map[string]any{"title": m.title, "content": content}
	body := map[string]any{"msg_type": "post", "content": map[string]any{"post": map[string]any{"zh_cn": words, "en_us": words}}}
	if secret != "" {
		at := strconv.FormatInt(now.Unix(), 10)
		body["timestamp"], body["sign"] = at, sign(at+"\n"+secret, "")
	}
	return jsonPost(to.String(), body)
}

// read judges an answer. 11232 is too many messages, 11246 and 19002 a message that cannot be read.
func (larkShape) read(body []byte) error {
	return readCode(body, []int{11232}, []int{11246, 19002})
}

// teamsShape is that of the workflow "post to a channel when a webhook request is received": an adaptive card.
type teamsShape struct{ any2xx }

func (teamsShape) shaped(m *message, to *url.URL, secret string, _ time.Time) (*post, error) {
	if secret != "" {
		return nil, fmt.Errorf("the secret of a workflow is in its address")
	}
	var blocks []map[string]any
	if m.title != "" {
		blocks = append(blocks, map[string]any{"type": "TextBlock", "text": plainMarkdown.Replace(m.title), "weight": "bolder", "size": "medium", "wrap": true})
	}
	for line := range strings.SplitSeq(clip(m.text, maxTeams), "\n") {
		blocks = append(blocks, map[string]any{"type": "TextBlock", "text": plainMarkdown.Replace(line), "wrap": true})
	}
	return jsonPost(to.String(), map[string]any{"type": "message", "attachments": []any{map[string]any{
		"contentType": "application/vnd.microsoft.card.adaptive",
		"content":     map[string]any{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": blocks},
	}}})
}

// plainMarkdown keeps a text from making links in Teams.
var plainMarkdown = strings.NewReplacer("[", `\[`, "]", `\]`, "<", "&lt;")

// errNoCode is the answer of something else than the robot that the template is for.
var errNoCode = errors.New("the answer has no code: the url may not be that of such a robot, see docs/channels.md")

// readCode judges an answer that tells its errors under the status of a success: errcode and errmsg, or code and msg.
func readCode(body []byte, busy, ofNotice []int) error {
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
	case slices.Contains(busy, *code):
		return &laterError{after: busyFor, err: err}
	case slices.Contains(ofNotice, *code):
		return &noticeError{err}
	default:
		return err
	}
}
