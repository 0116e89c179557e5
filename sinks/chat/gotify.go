package chat

import (
	"net/url"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/gotify"

	"tallyman/sinks/render"
)

// maxGotify is the longest text, in characters: what a telephone can be asked to show.
const maxGotify = 20_000

// gotifyPriorities are those of notices 1 … 5 in Gotify, which has 0 … 10 and makes a sound from 4 on.
var gotifyPriorities = [...]int{1: 1, 2: 3, 3: 5, 4: 8, 5: 10}

// gotifyChat sends as an application.
type gotifyChat struct {
	config *gotify.Config
	fixed  bool // the priority is the URL's
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
