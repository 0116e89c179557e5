package config

import (
	"fmt"
	"strconv"

	"tallyman/internal/settings"
	"tallyman/rules/strictyaml"
)

// Telemetry is what a node tells of itself to others; /metrics is there to be asked.
type Telemetry struct {
	Traces Traces `yaml:"traces"`
}

// Traces says where spans are sent, by OTLP over HTTP.
type Traces struct {
	Endpoint Endpoint         `yaml:"endpoint"` // "" = no traces are made
	Headers  settings.Headers `yaml:"headers"`  // of each call
	Sample   Share            `yaml:"sample"`   // of the traces is kept
}

// tracesPath is where a collector takes traces, unless the address says otherwise.
const tracesPath = "/v1/traces"

// Endpoint is the whole address of a collector.
type Endpoint string

// DecodeYAML reads the address. Credentials belong into headers, which nobody sees.
func (e *Endpoint) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	s, ok := d.Text(name, n)
	if !ok || s == "" {
		*e = ""
		return
	}
	u := settings.WebURL(s)
	if u == nil || u.User != nil || u.RawQuery != "" {
		d.Fail(n, CodeURL, name+" is no address of a collector", "http://host:4318; credentials go into telemetry.traces.headers")
		return
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = tracesPath
	}
	*e = Endpoint(u.String())
}

// Share is a number from 0 to 1.
type Share float64

// DecodeYAML reads the number.
func (x *Share) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	s, ok := d.Setting(name, n, "a number from 0 to 1")
	if !ok {
		return
	}
	share, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil:
		d.Fail(n, strictyaml.CodeType, fmt.Sprintf("%s takes a number from 0 to 1, found %q", name, s), "")
	case !(share >= 0 && share <= 1): // NaN too
		d.Fail(n, strictyaml.CodeOutOfRange, fmt.Sprintf("%s is %s, 0 to 1 is possible", name, s), "0.1 keeps one trace in ten")
	default:
		*x = Share(share)
	}
}
