package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// SinkType is a kind of sink.
type SinkType string

// The types. The last four are push channels.
const (
	SinkInbox   SinkType = "inbox"   // keeps notices for clients that poll
	SinkQueue   SinkType = "queue"   // keeps items for workers
	SinkWebhook SinkType = "webhook" // posts to an HTTP server
	SinkMail    SinkType = "mail"    // hands mails to an SMTP server
	SinkChat    SinkType = "chat"    // posts to a chat service
	SinkStdout  SinkType = "stdout"  // writes to the standard output, for dry runs
)

// sinkTypes are all of them, as hints name them.
var sinkTypes = []SinkType{SinkInbox, SinkQueue, SinkWebhook, SinkMail, SinkChat, SinkStdout}

// Sink is a place that notices go. Beside the type, what its type has is set, and Push for every push channel.
type Sink struct {
	Type    SinkType
	Inbox   *InboxSink
	Queue   *QueueSink
	Push    *PushSink
	Webhook *WebhookSink
	Mail    *MailSink
	Chat    *ChatSink
	Stdout  *StdoutSink
}

// InboxSink is what a sink of type inbox has beside its type.
type InboxSink struct {
	Cap int // how many notices an inbox keeps: the oldest go first
}

// The bounds of an inbox.
const (
	DefaultInboxCap = 10_000
	MaxInboxCap     = 100_000
)

func defaultInbox() *InboxSink { return &InboxSink{Cap: DefaultInboxCap} }

// newSink is a sink with the defaults of its type, and the fields that it has beside the type. Both are empty for a type that
// there is not.
func newSink(t SinkType) (*Sink, map[string]field) {
	s := &Sink{Type: t}
	switch t {
	case SinkInbox:
		s.Inbox = defaultInbox()
		return s, map[string]field{"cap": numberUpTo(&s.Inbox.Cap, MaxInboxCap)}
	case SinkQueue:
		s.Queue = defaultQueue()
		return s, s.Queue.fields()
	case SinkWebhook:
		s.Push, s.Webhook = defaultPush(), defaultWebhook()
		return s, s.pushFields(s.Webhook.fields())
	case SinkMail:
		s.Push, s.Mail = defaultPush(), defaultMail()
		return s, s.pushFields(s.Mail.fields())
	case SinkChat:
		s.Push, s.Chat = defaultPush(), defaultChat()
		return s, s.pushFields(s.Chat.fields())
	case SinkStdout:
		s.Push, s.Stdout = defaultPush(), defaultStdout()
		return s, s.pushFields(s.Stdout.fields())
	default:
		return s, map[string]field{}
	}
}

func (s *Sink) pushFields(own map[string]field) map[string]field {
	maps.Copy(own, s.Push.fields())
	return own
}

// sinkField reads a sink: its type says which fields it has.
func sinkField(sinks map[string]Sink, name string) field {
	return func(d *decoder, at path, v any) {
		var t SinkType
		if m, ok := v.(map[string]any); ok && m["type"] != nil {
			text(&t)(d, at.to("type"), m["type"])
		}
		s, fields := newSink(t)
		if !slices.Contains(sinkTypes, t) {
			fields = everyField()
		}
		fields["type"] = ignore
		section(fields)(d, at, v)
		if !d.bad(at) {
			d.checkSink(at, s)
		}
		sinks[name] = *s
	}
}

func ignore(*decoder, path, any) {}

// everyField lets the fields of every type pass: where the type is wrong, it alone is.
func everyField() map[string]field {
	all := map[string]field{}
	for _, t := range sinkTypes {
		_, fields := newSink(t)
		for name := range fields {
			all[name] = ignore
		}
	}
	return all
}

func (d *decoder) checkSink(at path, s *Sink) {
	switch s.Type {
	case "":
		d.missing(at, "type")
	case SinkInbox, SinkQueue, SinkStdout:
	case SinkWebhook:
		d.checkWebhook(at, s.Webhook)
	case SinkMail:
		d.checkMail(at, s.Mail)
	case SinkChat:
		d.checkChat(at, s.Chat)
	default:
		names := make([]string, len(sinkTypes))
		for i, t := range sinkTypes {
			names[i] = string(t)
		}
		hint := problem.DidYouMean(string(s.Type), names)
		if hint == "" {
			hint = "one of " + strings.Join(names, ", ")
		}
		d.fail(at.to("type"), strictyaml.CodeEnum, fmt.Sprintf("%s.type cannot be %q", at, s.Type), hint)
	}
}
