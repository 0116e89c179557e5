package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nicholas-fedor/shoutrrr/pkg/format"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/discord"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/mattermost"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/slack"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/telegram"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/gotify"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/ntfy"

	"tallyman/sinks/render"
)

// maxSlack is the longest message, in characters, with its escapes.
const maxSlack = 40_000

// slackChat posts through a webhook, or through the API with the token of a bot.
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

// slackEscapes prevents a text from mentioning people or making links.
var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func (s *slackChat) post(m *message, _ time.Time) (*post, error) {
	shown := func(text string) string {
		bold := func(title string) string { return "*" + slackEscapes.Replace(title) + "*" }
		return m.mention.line("<@%s>") + headed(bold, m.title, slackEscapes.Replace(text))
	}
	text := fit(m.body(), func(text string) bool { return units(shown(text)) <= maxSlack })
	payload := slack.MessagePayload{Text: shown(text), BotName: s.config.BotName, ThreadTS: s.config.ThreadTS}
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

func (s *slackChat) mentions(phone bool) bool { return !phone }

// slackOfNotice has the errors of the API that are about the message.
var slackOfNotice = []string{"msg_too_long", "no_text", "invalid_blocks", "invalid_arguments"}

// read judges an answer. A webhook answers "ok". The API answers with a success status even for errors.
func (s *slackChat) read(body []byte) error {
	if !s.config.Token.IsAPIToken() {
		return nil
	}
	var told struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(body, &told); err != nil {
		return fmt.Errorf("the answer is not in the form of Slack's API: %w", err)
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

// maxTelegram is the longest message, in characters. Telegram counts them after it has read the escapes.
const maxTelegram = 4096

// telegramChat posts as a bot.
type telegramChat struct{ config *telegram.Config }

func openTelegram(u *url.URL) (service, error) {
	if err := only(u, "chats", "channels", "preview", "notification"); err != nil {
		return nil, err
	}
	config := &telegram.Config{Preview: true, Notification: true}
	if u.User == nil || config.SetURL(u) != nil {
		return nil, errForm("telegram://TOKEN@telegram?chats=CHAT")
	}
	if len(config.Chats) != 1 {
		return nil, errors.New("the url has several chats; if one fails, the others get the message again. Make a sink for each chat")
	}
	return &telegramChat{config}, nil
}

func (t *telegramChat) post(m *message, _ time.Time) (*post, error) {
	shown := func(text string) string {
		bold := func(title string) string { return "<b>" + html.EscapeString(title) + "</b>" }
		return m.mention.line("@%s") + headed(bold, m.title, html.EscapeString(text))
	}
	text := fit(m.body(), func(text string) bool { return units(html.UnescapeString(shown(text))) <= maxTelegram })
	return jsonPost("https://api.telegram.org/bot"+t.config.Token+"/sendMessage", map[string]any{
		"chat_id": t.config.Chats[0], "text": shown(text), "parse_mode": "HTML",
		"disable_notification": !t.config.Notification, "link_preview_options": map[string]bool{"is_disabled": !t.config.Preview},
	})
}

func (t *telegramChat) mentions(phone bool) bool { return !phone }

// telegramAnswer is an answer of the API.
type telegramAnswer struct {
	OK          bool   `json:"ok"`
	Description string `json:"description"`
}

func (t *telegramChat) read(body []byte) error {
	var told telegramAnswer
	if err := json.Unmarshal(body, &told); err != nil {
		return fmt.Errorf("the answer is not in the form of Telegram's API: %w", err)
	}
	if !told.OK {
		return fmt.Errorf("the answer is %q", told.Description)
	}
	return nil
}

// ofChat tells whether a 400 is about the chat: it was not found, was upgraded, or forbids the bot to write.
func (t *telegramChat) ofChat(body []byte) bool {
	var told telegramAnswer
	if json.Unmarshal(body, &told) != nil {
		return false
	}
	d := strings.ToLower(told.Description)
	return strings.Contains(d, "chat") || strings.Contains(d, "rights") || strings.Contains(d, "peer")
}

// The longest title and text of an embed, in characters, with their escapes.
const (
	maxDiscordTitle = 256
	maxDiscord      = 4096
)

// discordChat posts through a webhook.
type discordChat struct{ config *discord.Config }

func openDiscord(u *url.URL) (service, error) {
	if err := only(u, "username", "avatar", "avatarurl", "thread_id"); err != nil {
		return nil, err
	}
	config := &discord.Config{}
	if u.User == nil || config.SetURL(u) != nil || config.JSON {
		return nil, errForm("discord://TOKEN@WEBHOOKID")
	}
	return &discordChat{config}, nil
}

// linkEscapes prevents a text from making links in Markdown, whose words could hide the address. linkEscapes also
// escapes the backslash. The comment of plainMarkdown says why.
var linkEscapes = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`)

func (d *discordChat) post(m *message, _ time.Time) (*post, error) {
	shown := func(text string, most int) string {
		return linkEscapes.Replace(fit(text, func(text string) bool { return units(linkEscapes.Replace(text)) <= most }))
	}
	embed := map[string]any{"color": m.color(), "description": shown(m.body(), maxDiscord)}
	if m.title != "" {
		embed["title"] = shown(m.title, maxDiscordTitle)
	}
	body := map[string]any{"embeds": []any{embed}, "allowed_mentions": map[string]any{"parse": []string{}}}
	if len(m.mention.ids) > 0 {
		body["content"] = strings.TrimSuffix(m.mention.line("<@%s>"), "\n")
		body["allowed_mentions"] = map[string]any{"parse": []string{}, "users": m.mention.ids}
	}
	for name, value := range map[string]string{"username": d.config.Username, "avatar_url": d.config.Avatar} {
		if value != "" {
			body[name] = value
		}
	}
	return jsonPost(discord.CreateAPIURLFromConfig(d.config), body)
}

func (d *discordChat) mentions(phone bool) bool { return !phone }

func (d *discordChat) read([]byte) error { return nil }

// maxMattermost is the longest post, in code points, with its escapes. Mattermost makes several posts of a longer one.
const maxMattermost = 16_383

// mattermostChat posts through an incoming webhook.
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

// mattermostEscapes prevents a text from making links, and from mentioning people: it puts a zero-width space after each
// @.
var mattermostEscapes = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "@", "@\u200b")

func (c *mattermostChat) post(m *message, _ time.Time) (*post, error) {
	shown := func(text string) string {
		bold := func(title string) string { return "**" + mattermostEscapes.Replace(title) + "**" }
		return m.mention.line("@%s") + headed(bold, m.title, mattermostEscapes.Replace(text))
	}
	text := fit(m.body(), func(text string) bool { return utf8.RuneCountInString(shown(text)) <= maxMattermost })
	payload := mattermost.JSON{Text: shown(text), UserName: c.config.UserName, Channel: c.config.Channel}
	payload.SetIcon(c.config.Icon)
	to := url.URL{Scheme: scheme(c.config.DisableTLS), Host: c.config.Host, Path: "/hooks/" + c.config.Token}
	return jsonPost(to.String(), payload)
}

func (c *mattermostChat) mentions(phone bool) bool { return !phone }

func (c *mattermostChat) read([]byte) error { return nil }

func scheme(plain bool) string {
	if plain {
		return "http"
	}
	return "https"
}

// maxNtfy is the longest message, in bytes. A longer message would become an attachment.
const maxNtfy = 4000

// ntfyChat publishes to a topic.
type ntfyChat struct {
	config   *ntfy.Config
	priority string // the fixed priority of the URL; "" = the priority of the notice
}

func openNtfy(u *url.URL) (service, error) {
	if err := only(u, "scheme", "disabletls", "priority", "tags", "click", "icon", "cache", "firebase", "email"); err != nil {
		return nil, err
	}
	config := &ntfy.Config{}
	resolver := format.NewPropKeyResolver(config)
	copied := *u // the library changes the URL that it parses
	if resolver.SetDefaultProps(config) != nil || config.SetURL(&copied) != nil || config.Host == "" || config.Scheme != "http" && config.Scheme != "https" {
		return nil, errForm("ntfy://HOST/TOPIC or ntfy://USER:PASSWORD@HOST/TOPIC")
	}
	if config.DisableTLS {
		config.Scheme = "http"
	}
	return &ntfyChat{config: config, priority: u.Query().Get("priority")}, nil
}

func (n *ntfyChat) post(m *message, _ time.Time) (*post, error) {
	priority := n.priority
	if priority == "" {
		priority = strconv.Itoa(m.priority)
	}
	to, err := url.Parse(n.config.GetAPIURL())
	if err != nil {
		return nil, err
	}
	if n.config.Username != "" || n.config.Password != "" {
		to.User = url.UserPassword(n.config.Username, n.config.Password)
	}
	p := &post{url: to.String(), body: []byte(render.ShortenBytes(m.text, maxNtfy)), header: map[string]string{
		"Content-Type": "text/plain; charset=utf-8", "Priority": priority,
	}}
	for name, value := range map[string]string{
		"Title": mime.QEncoding.Encode("utf-8", m.title), "Tags": strings.Join(n.config.Tags, ","), "Click": n.config.Click,
		"Icon": n.config.Icon, "Email": n.config.Email, "Cache": no(n.config.Cache), "Firebase": no(n.config.Firebase),
	} {
		if value != "" {
			p.header[name] = value
		}
	}
	return p, nil
}

func (n *ntfyChat) read([]byte) error { return nil }

// no returns the word by which ntfy switches a feature off.
func no(on bool) string {
	if on {
		return ""
	}
	return "no"
}

// maxGotify is the longest text, in characters. A phone can still show it.
const maxGotify = 20_000

// gotifyPriorities maps the priorities 1 … 5 of notices to priorities of Gotify. Gotify has 0 … 10, and makes a sound
// from 4 on.
var gotifyPriorities = [...]int{1: 1, 2: 3, 3: 5, 4: 8, 5: 10}

// gotifyChat sends as an application.
type gotifyChat struct {
	config *gotify.Config
	fixed  bool // the URL has a priority, which is used for every message
}

func openGotify(u *url.URL) (service, error) {
	if err := only(u, "priority", "disabletls"); err != nil {
		return nil, err
	}
	config := &gotify.Config{}
	if config.SetURL(u) != nil || config.Host == "" || config.Token == "" {
		return nil, errForm("gotify://HOST/TOKEN")
	}
	return &gotifyChat{config: config, fixed: u.Query().Has("priority")}, nil
}

func (g *gotifyChat) post(m *message, _ time.Time) (*post, error) {
	priority := g.config.Priority
	if !g.fixed {
		priority = gotifyPriorities[m.priority]
	}
	to := url.URL{Scheme: scheme(g.config.DisableTLS), Host: g.config.Host, Path: g.config.Path}
	p, err := jsonPost(to.JoinPath("message").String(), gotify.MessageRequest{
		Message: render.Shorten(m.text, maxGotify), Title: m.title, Priority: priority,
	})
	if err != nil {
		return nil, err
	}
	p.header["X-Gotify-Key"] = g.config.Token
	return p, nil
}

func (g *gotifyChat) read([]byte) error { return nil }
