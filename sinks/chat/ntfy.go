package chat

import (
	"mime"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/format"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/ntfy"

	"tallyman/sinks/render"
)

// maxNtfy is the longest message, in bytes; a longer one would become an attachment.
const maxNtfy = 4000

// ntfyChat publishes to a topic.
type ntfyChat struct {
	config   *ntfy.Config
	priority string // of the URL; "" = the notice's
}

func openNtfy(u *url.URL) (service, error) {
	if err := only(u, "scheme", "disabletls", "priority", "tags", "click", "icon", "cache", "firebase", "email"); err != nil {
		return nil, err
	}
	config := &ntfy.Config{}
	resolver := format.NewPropKeyResolver(config)
	copied := *u // the library changes it
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

// no is the word for what is switched off.
func no(on bool) string {
	if on {
		return ""
	}
	return "no"
}
