package stdout

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
	"tallyman/sinks"
	"tallyman/sinks/render"
)

// Format says how a notice is written.
type Format string

// The formats.
const (
	JSON Format = "json" // one line with the JSON of the notice; a webhook adds the recipients
	Text Format = "text" // a line for people
)

// Channel writes notices. Channel implements sinks.Pusher.
type Channel struct {
	format Format

	mu  sync.Mutex // serializes the writes, so that lines do not mix
	out io.Writer
}

// New makes a channel that writes to out in the format.
func New(out io.Writer, format Format) (*Channel, error) {
	switch {
	case out == nil:
		return nil, errors.New("stdout: nothing to write to")
	case format != JSON && format != Text:
		return nil, fmt.Errorf("stdout: the format is %s or %s, not %q", JSON, Text, format)
	}
	return &Channel{format: format, out: out}, nil
}

// Push writes a line for each delivery, all in one write.
func (c *Channel) Push(ctx context.Context, batch []delivery.Delivery) error {
	var b bytes.Buffer
	for i := range batch {
		line, err := c.line(batch[i].Notice)
		if err != nil {
			return sinks.Refuse(&batch[i], fmt.Errorf("stdout: %w", err))
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.Len() == 0 {
		return nil
	}
	if _, err := c.out.Write(b.Bytes()); err != nil {
		return fmt.Errorf("stdout: %w", err)
	}
	return nil
}

func (c *Channel) line(n *notice.Notice) ([]byte, error) {
	if c.format == JSON {
		return json.Marshal(n)
	}
	parts := []string{n.CreatedAt.UTC().Format("2006-01-02T15:04:05Z"), n.Warehouse, n.Type, string(n.Status), strings.Repeat("!", min(max(n.Priority, 0), 5)), n.Title}
	if n.Body != "" {
		parts = append(parts, "— "+n.Body)
	}
	for i := range parts {
		parts[i] = render.OneLine(parts[i])
	}
	return []byte(strings.Join(parts, "  ")), nil
}

// Close does nothing: the channel owns nothing that has to be closed.
func (c *Channel) Close() {}

// TypeName is the name of the type.
const TypeName = "stdout"

// Type is the type of sink that writes to the standard output, for dry runs.
var Type = sinks.Type{Name: TypeName, New: func() sinks.Settings { return NewSettings() }}

// Settings are the settings of a sink of this type.
type Settings struct {
	sinks.PushSettings `yaml:",inline"`

	Format Format `yaml:"format" enum:"json,text" doc:"json (a line each) or text"`
}

// NewSettings returns the default settings.
func NewSettings() *Settings {
	return &Settings{PushSettings: sinks.NewPushSettings(TypeName), Format: JSON}
}

// Open implements sinks.ChannelSettings.
func (s *Settings) Open(site sinks.Site) (sinks.Channel, error) {
	return sinks.Opened(New(site.Stdout, s.Format))
}
