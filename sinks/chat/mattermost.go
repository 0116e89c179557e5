package chat

import (
	"net/url"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/mattermost"

	"tallyman/sinks/render"
)

// maxMattermost is the longest text, in characters; a post has 16,383.
const maxMattermost = 16_000

// mattermostChat posts by an incoming webhook.
type mattermostChat struct{ config *mattermost.Config }

func openMattermost(u *url.URL) (service, error) {
	if err := only(u, "icon", "icon_emoji", "icon_url", "disabletls"); err != nil {
		return nil, err
	}
	config, err := mattermost.CreateConfigFromURL(u)
	if err != nil || config.Host == "" {
		return nil, errForm("mattermost://HOST/TOKEN")
	}
	return &mattermostChat{config}, nil
}

// mattermostEscapes keep a text from mentioning people. A zero-width space stands behind the sign.
var mattermostEscapes = strings.NewReplacer("@", "@\u200b")

func (c *mattermostChat) post(m *message, _ time.Time) (*post, error) {
	text := render.Shorten(m.text, maxMattermost)
	if m.title != "" {
		text = strings.TrimSuffix("**"+m.title+"**\n"+render.Shorten(m.body(), maxMattermost-maxTitle-5), "\n")
	}
	payload := mattermost.JSON{Text: mattermostEscapes.Replace(text), UserName: c.config.UserName, Channel: c.config.Channel}
	payload.SetIcon(c.config.Icon)
	to := url.URL{Scheme: scheme(c.config.DisableTLS), Host: c.config.Host, Path: "/hooks/" + c.config.Token}
	return jsonPost(to.String(), payload)
}

func (c *mattermostChat) read([]byte) error { return nil }

func scheme(plain bool) string {
	if plain {
		return "http"
	}
	return "https"
}
