package inbox

import "tallyman/sinks"

// TypeName is the name of the type.
const TypeName = "inbox"

// Type is the type of sink that keeps notices for clients that poll.
var Type = sinks.Type{Name: TypeName, New: func() sinks.Settings { return NewSettings() }}

// Settings are those of a sink of the type.
type Settings struct {
	sinks.Header `yaml:",inline"`

	Cap int `yaml:"cap" min:"1" max:"100000" doc:"how many notices an inbox keeps; the oldest go first"`
}

// NewSettings are the defaults.
func NewSettings() *Settings {
	return &Settings{Header: sinks.Header{Type: TypeName}, Cap: DefaultCap}
}

// Kind is sinks.InboxKind.
func (*Settings) Kind() sinks.Kind { return sinks.InboxKind }
