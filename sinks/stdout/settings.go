package stdout

import "tallyman/sinks"

// TypeName is the name of the type.
const TypeName = "stdout"

// Type is the type of sink that writes to the standard output, for dry runs.
var Type = sinks.Type{Name: TypeName, New: func() sinks.Settings { return NewSettings() }}

// Settings are those of a sink of the type.
type Settings struct {
	sinks.PushSettings `yaml:",inline"`

	Format Format `yaml:"format" enum:"json,text" doc:"json (a line each) or text"`
}

// NewSettings are the defaults.
func NewSettings() *Settings {
	return &Settings{PushSettings: sinks.NewPushSettings(TypeName), Format: JSON}
}

// Open implements sinks.ChannelSettings.
func (s *Settings) Open(site sinks.Site) (sinks.Channel, error) {
	return sinks.Opened(New(Options{Out: site.Stdout, Format: s.Format}))
}
