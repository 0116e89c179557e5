package chat

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/slack"

	"tallyman/sinks/render"
)

// maxSlack is the longest message, in characters. Slack takes 40,000 and cuts off what is longer.
const maxSlack = 30_000

// slackChat posts by a webhook, or by a bot's token through the API.
type slackChat struct{ config *slack.Config }

func openSlack(u *url.URL) (service, error) {
	if err := only(u, "botname", "username", "icon", "icon_emoji", "icon_url", "thread_ts"); err != nil {
		return nil, err
	}
	const form = "slack://hook:TOKEN@webhook or slack://xoxb:TOKEN@CHANNEL" //nolint:gosec // the form, with no token in it
	if u.User == nil && len(u.Path) < 2 {
		return nil, errForm(form)
	}
	config, err := slack.CreateConfigFromURL(u)
	if err != nil || config.Channel == "" {
		return nil, errForm(form)
	}
	return &slackChat{config}, nil
}

// slackEscapes keep a text from mentioning people and making links.
var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func (s *slackChat) post(m *message, _ time.Time) (*post, error) {
	text := slackEscapes.Replace(render.Shorten(m.text, maxSlack))
	if m.title != "" {
		text = strings.TrimSuffix("*"+slackEscapes.Replace(m.title)+"*\n"+slackEscapes.Replace(render.Shorten(m.body(), maxSlack)), "\n")
	}
	payload := slack.MessagePayload{Text: text, BotName: s.config.BotName, ThreadTS: s.config.ThreadTS}
	payload.SetIcon(s.config.Icon)
	if !s.config.Token.IsAPIToken() {
		return jsonPost(s.config.Token.WebhookURL(), payload)
	}
	payload.Channel = s.config.Channel
	p, err := jsonPost("https://slack.com/api/chat.postMessage", payload)
	if err != nil {
		return nil, err
	}
	p.header["Content-Type"] = "application/json; charset=utf-8"
	p.header["Authorization"] = s.config.Token.Authorization()
	return p, nil
}

// Errors of the API that are about the message.
var slackOfNotice = []string{"msg_too_long", "no_text", "invalid_blocks", "invalid_arguments"}

// read judges an answer: that of a webhook is "ok", and the API tells its errors under the status of a success.
func (s *slackChat) read(body []byte) error {
	if !s.config.Token.IsAPIToken() {
		return nil
	}
	var told struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(body, &told); err != nil {
		return fmt.Errorf("an answer that is none of Slack's: %w", err)
	}
	err := fmt.Errorf("the answer is %q", told.Error)
	switch {
	case told.OK:
		return nil
	case slices.Contains(slackOfNotice, told.Error):
		return &noticeError{err}
	default:
		return err
	}
}
