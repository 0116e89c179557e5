package chat

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
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
		return map[string]any{"msgtype": "text", "text": map[string]string{"content": text}}
	})
}

func (dingTalkShape) read(body []byte) error { return dingTalkCodes().read(body) }

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

func (weComShape) read(body []byte) error { return weComCodes().read(body) }

// larkShape is that of the custom bots of Lark and Feishu. A post, unlike a text, has no markup that could mention people.
type larkShape struct{}

func (larkShape) shaped(m *message, to *url.URL, secret string, now time.Time) (*post, error) {
	return fitted(to.String(), m.text, mostLark, func(text string) any {
		var content [][]map[string]string
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
