package chat

import (
	"net/url"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/discord"

	"tallyman/sinks/render"
)

// maxDiscord is the longest text of an embed, in characters.
const maxDiscord = 4096

// discordChat posts by a webhook.
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

func (d *discordChat) post(m *message, _ time.Time) (*post, error) {
	embed := map[string]any{"color": m.color(), "description": render.Shorten(m.text, maxDiscord)}
	if m.title != "" {
		embed["title"], embed["description"] = m.title, render.Shorten(m.body(), maxDiscord)
	}
	body := map[string]any{"embeds": []any{embed}, "allowed_mentions": map[string]any{"parse": []string{}}}
	for name, value := range map[string]string{"username": d.config.Username, "avatar_url": d.config.Avatar} {
		if value != "" {
			body[name] = value
		}
	}
	return jsonPost(discord.CreateAPIURLFromConfig(d.config), body)
}

func (d *discordChat) read([]byte) error { return nil }
