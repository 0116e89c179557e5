package chat

import (
	"net/url"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/wecom"
)

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
