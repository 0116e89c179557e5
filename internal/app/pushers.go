package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"

	"tallyman/internal/config"
	"tallyman/internal/delivery"
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

// channels makes push channels.
type channels struct {
	book    mail.Book
	stdout  io.Writer
	version string
	log     *slog.Logger
}

// CheckChannels makes each push channel of the configuration and closes it again, without connecting to anything: it tells what is
// wrong with their addresses, templates and certificates before they are needed.
func CheckChannels(cfg *config.Config) error {
	c := channels{book: nobody{}, stdout: io.Discard, log: slog.New(slog.DiscardHandler)}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(cfg.Sinks)) {
		sink := cfg.Sinks[name]
		if sink.Push == nil {
			continue
		}
		channel, err := c.open(name, &sink)
		if err != nil {
			problems = append(problems, fmt.Errorf("sinks.%s: %w", name, err))
			continue
		}
		channel.Close()
	}
	return errors.Join(problems...)
}

// nobody is an address book without entries.
type nobody struct{}

func (nobody) Subscribers(context.Context, []string) (map[string]delivery.Subscriber, error) {
	return map[string]delivery.Subscriber{}, nil
}

// open makes what hands notices to a push channel.
func (c *channels) open(name string, cfg *config.Sink) (pusher, error) {
	switch cfg.Type {
	case config.SinkWebhook:
		return opened(webhook.New(c.webhook(name, cfg)))
	case config.SinkMail:
		return opened(mail.New(c.mail(name, cfg)))
	case config.SinkChat:
		return opened(chat.New(c.chat(name, cfg)))
	case config.SinkStdout:
		s, err := stdout.New(stdout.Options{Out: c.stdout, Format: stdout.Format(cfg.Stdout.Format)})
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

func (c *channels) webhook(name string, cfg *config.Sink) webhook.Options {
	w := cfg.Webhook
	o := webhook.Options{
		URL: w.URL.Reveal(), AllowPrivate: w.AllowPrivate, Batch: w.Batch.Max > 1,
		TLS:         webhook.TLS{CA: w.TLS.CA, Cert: w.TLS.Cert, Key: w.TLS.Key, ServerName: w.TLS.ServerName},
		Connections: cfg.Push.Concurrency, Version: c.version, Logger: c.log.With("sink", name), Headers: map[string]string{},
	}
	for _, s := range w.Secrets {
		o.Secrets = append(o.Secrets, s.Reveal())
	}
	for header, value := range w.Headers {
		o.Headers[header] = value.Reveal()
	}
	return o
}

func (c *channels) mail(name string, cfg *config.Sink) mail.Options {
	m := cfg.Mail
	return mail.Options{
		Host: m.Host, Port: m.Port, Security: mail.Security(m.TLS), CA: m.CA, Username: m.Username, Password: m.Password.Reveal(),
		From: m.From, Helo: m.Helo, Subject: m.Subject, Text: m.Text, HTML: m.HTML,
		Book: c.book, Logger: c.log.With("sink", name),
	}
}

func (c *channels) chat(name string, cfg *config.Sink) chat.Options {
	t := cfg.Chat
	return chat.Options{
		URL: t.URL.Reveal(), AllowPrivate: t.AllowPrivate, Title: t.Title, Text: t.Text,
		Version: c.version, Logger: c.log.With("sink", name),
	}
}
