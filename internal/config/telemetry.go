package config

import (
	"fmt"
	"net/url"
	"strconv"

	"tallyman/rules/strictyaml"
)

// Telemetry is what a node tells of itself to others; /metrics is there to be asked.
type Telemetry struct {
	Traces Traces
}

// Traces says where spans are sent, by OTLP over HTTP.
type Traces struct {
	Endpoint string            // the whole address; "" = no traces are made
	Headers  map[string]Secret // of each call
	Sample   float64           // the share of traces that is kept, 0 … 1
}

// tracesPath is where a collector takes traces, unless the address says otherwise.
const tracesPath = "/v1/traces"

func (t *Telemetry) field() field {
	return section(map[string]field{"traces": section(map[string]field{
		"endpoint": endpoint(&t.Traces.Endpoint), "headers": headers(&t.Traces.Headers), "sample": share(&t.Traces.Sample),
	})})
}

// endpoint reads the address of a collector. Credentials belong into headers, which nobody sees.
func endpoint(dst *string) field {
	return func(d *decoder, at path, v any) {
		s, ok := d.text(at, v)
		if !ok || s == "" {
			*dst = ""
			return
		}
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || !isPort(portOr(u.Port(), "80")) || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			d.fail(at, CodeURL, fmt.Sprintf("%s is no address of a collector", at), "http://host:4318; credentials go into telemetry.traces.headers")
			return
		}
		if u.Path == "" || u.Path == "/" {
			u.Path = tracesPath
		}
		*dst = u.String()
	}
}

// share reads a number from 0 to 1.
func share(dst *float64) field {
	return func(d *decoder, at path, v any) {
		s, ok := d.scalar(at, v, "a number from 0 to 1")
		if !ok {
			return
		}
		x, err := strconv.ParseFloat(s, 64)
		switch {
		case err != nil:
			d.fail(at, strictyaml.CodeType, fmt.Sprintf("%s takes a number from 0 to 1, found %q", at, s), "")
		case !(x >= 0 && x <= 1): // NaN too
			d.fail(at, strictyaml.CodeOutOfRange, fmt.Sprintf("%s is %s, 0 to 1 is possible", at, s), "0.1 keeps one trace in ten")
		default:
			*dst = x
		}
	}
}
