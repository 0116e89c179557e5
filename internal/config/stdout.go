package config

// StdoutFormat says how a notice is written to the standard output.
type StdoutFormat string

// The formats.
const (
	StdoutJSON StdoutFormat = "json" // one line each
	StdoutText StdoutFormat = "text" // for people
)

// StdoutSink is what a sink of type stdout has beside what every push channel has.
type StdoutSink struct {
	Format StdoutFormat
}

func defaultStdout() *StdoutSink { return &StdoutSink{Format: StdoutJSON} }

func (s *StdoutSink) fields() map[string]field {
	return map[string]field{"format": oneOf(&s.Format, StdoutJSON, StdoutText)}
}
