package chat

import (
	"net/url"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/lark"
)

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
