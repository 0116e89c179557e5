package app

import (
	"fmt"

	"tallyman/internal/config"
	"tallyman/sinks"
	"tallyman/sinks/chat"
	"tallyman/sinks/mail"
	"tallyman/sinks/stdout"
	"tallyman/sinks/webhook"
)

// pusher is a push channel that holds connections.
type pusher interface {
	sinks.Pusher
	Close()
}

// newPusher makes what hands notices to a push channel.
func (a *App) newPusher(name string, cfg *config.Sink) (pusher, error) {
	switch cfg.Type {
	case config.SinkWebhook:
		return opened(webhook.New(a.webhookOptions(name, cfg)))
	case config.SinkMail:
		return opened(mail.New(a.mailOptions(name, cfg)))
	case config.SinkChat:
		return opened(chat.New(a.chatOptions(name, cfg)))
	case config.SinkStdout:
		s, err := stdout.New(stdout.Options{Out: a.opts.Stdout, Format: stdout.Format(cfg.Stdout.Format)})
		return withoutClose{s}, err
	default:
		return nil, fmt.Errorf("a sink of type %s is no push channel", cfg.Type)
	}
}

// opened gives a channel that could not be made as none: a nil of its type would be one.
func opened[P pusher](p P, err error) (pusher, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

// withoutClose is a channel that holds nothing.
type withoutClose struct{ sinks.Pusher }

func (withoutClose) Close() {}

func (a *App) webhookOptions(name string, cfg *config.Sink) webhook.Options {
	c := cfg.Webhook
	o := webhook.Options{
		URL: c.URL.Reveal(), AllowPrivate: c.AllowPrivate, Batch: c.Batch.Max > 1,
		TLS:         webhook.TLS{CA: c.TLS.CA, Cert: c.TLS.Cert, Key: c.TLS.Key, ServerName: c.TLS.ServerName},
		Connections: cfg.Push.Concurrency, Version: a.opts.Version, Logger: a.log.With("sink", name), Headers: map[string]string{},
	}
	for _, s := range c.Secrets {
		o.Secrets = append(o.Secrets, s.Reveal())
	}
	for header, value := range c.Headers {
		o.Headers[header] = value.Reveal()
	}
	return o
}

func (a *App) mailOptions(name string, cfg *config.Sink) mail.Options {
	c := cfg.Mail
	return mail.Options{
		Host: c.Host, Port: c.Port, Security: mail.Security(c.TLS), CA: c.CA, Username: c.Username, Password: c.Password.Reveal(),
		From: c.From, Helo: c.Helo, Subject: c.Subject, Text: c.Text, HTML: c.HTML,
		Book: a.ledger, Logger: a.log.With("sink", name),
	}
}

func (a *App) chatOptions(name string, cfg *config.Sink) chat.Options {
	c := cfg.Chat
	return chat.Options{
		URL: c.URL.Reveal(), AllowPrivate: c.AllowPrivate, Title: c.Title, Text: c.Text,
		Version: a.opts.Version, Logger: a.log.With("sink", name),
	}
}
