package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/telegram"

	"tallyman/sinks/render"
)

// maxTelegram is the longest message, in characters, with room for a title.
const maxTelegram = 4096 - maxTitle - 1

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
		return nil, errors.New("several chats: where one fails, the others would get the message again. Make a sink of each")
	}
	return &telegramChat{config}, nil
}

func (t *telegramChat) post(m *message, _ time.Time) (*post, error) {
	text := html.EscapeString(render.Shorten(m.text, maxTelegram))
	if m.title != "" {
		text = strings.TrimSuffix("<b>"+html.EscapeString(m.title)+"</b>\n"+html.EscapeString(render.Shorten(m.body(), maxTelegram)), "\n")
	}
	return jsonPost("https://api.telegram.org/bot"+t.config.Token+"/sendMessage", map[string]any{
		"chat_id": t.config.Chats[0], "text": text, "parse_mode": "HTML",
		"disable_notification": !t.config.Notification, "link_preview_options": map[string]bool{"is_disabled": !t.config.Preview},
	})
}

// telegramAnswer is what the API says.
type telegramAnswer struct {
	OK          bool   `json:"ok"`
	Description string `json:"description"`
}

func (t *telegramChat) read(body []byte) error {
	var told telegramAnswer
	if err := json.Unmarshal(body, &told); err != nil {
		return fmt.Errorf("an answer that is none of Telegram's: %w", err)
	}
	if !told.OK {
		return fmt.Errorf("the answer is %q", told.Description)
	}
	return nil
}

// ofChat tells whether a 400 is about the chat: it was not found, was upgraded, or may not be written to.
func (t *telegramChat) ofChat(body []byte) bool {
	var told telegramAnswer
	if json.Unmarshal(body, &told) != nil {
		return false
	}
	d := strings.ToLower(told.Description)
	return strings.Contains(d, "chat") || strings.Contains(d, "rights") || strings.Contains(d, "peer")
}
