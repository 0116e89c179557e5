package config

import (
	"strings"
	"time"

	"tallyman/rules/strictyaml"
)

// config reads everything and then checks what concerns several fields.
func (d *decoder) config(c *Config, merged map[string]any) {
	section(map[string]field{
		"http":   httpFields(&c.HTTP),
		"auth":   c.Auth.field(),
		"redis":  section(map[string]field{"url": redisURLs(&c.Redis), "prefix": text(&c.Redis.Prefix)}),
		"ledger": section(map[string]field{"url": secret(&c.Ledger.URL), "retention": duration(&c.Ledger.Retention, day)}),
		"rules":  section(map[string]field{"paths": texts(&c.Rules.Paths)}),
		"types":  section(map[string]field{"path": text(&c.Types.Path)}),
		"sources": func(d *decoder, at path, v any) {
			c.Sources = map[string]Source{}
			entries(func(name string) field { return sourceField(c.Sources, name) })(d, at, v)
		},
		"sinks": func(d *decoder, at path, v any) {
			c.Sinks = map[string]Sink{}
			entries(func(name string) field { return sinkField(c.Sinks, name) })(d, at, v)
		},
		"telemetry":     c.Telemetry.field(),
		"subscriptions": items(func() field { return subscriptionField(&c.Subscriptions) }),
	})(d, nil, merged)
	d.check(c)
}

// redisURLs reads one address or a list of them.
func redisURLs(r *Redis) field {
	return func(d *decoder, at path, v any) {
		r.URLs, r.List = nil, false
		add := func() field {
			return func(d *decoder, at path, v any) {
				if s, ok := d.secret(at, v); ok {
					r.URLs = append(r.URLs, NewSecret(s))
				}
			}
		}
		switch x := v.(type) {
		case []any:
			r.List = true
			items(add)(d, at, v)
		case overlay:
			parts := strings.Split(string(x), ",")
			r.List = len(parts) > 1
			for _, part := range parts {
				add()(d, at, overlay(strings.TrimSpace(part)))
			}
		default:
			add()(d, at, v)
		}
	}
}

func sourceField(sources map[string]Source, name string) field {
	return func(d *decoder, at path, v any) {
		s := defaultSource()
		section(map[string]field{
			"driver":            text(&s.Driver),
			"url":               secret(&s.URL),
			"max_connections":   number(&s.MaxConnections, 1),
			"statement_timeout": duration(&s.StatementTimeout, time.Millisecond),
			"max_cell_bytes":    number(&s.MaxCellBytes, leastCellBytes),
			"max_row_bytes":     numberUpTo(&s.MaxRowBytes, mostRowBytes),
			"functions":         texts(&s.Functions),
		})(d, at, v)
		if !d.bad(at) {
			d.checkSource(at, &s)
		}
		sources[name] = s
	}
}

func subscriptionField(subs *[]Subscription) field {
	return func(d *decoder, at path, v any) {
		var s Subscription
		section(map[string]field{
			"type": text(&s.Type), "warehouse": text(&s.Warehouse), "subscriber": text(&s.Subscriber),
		})(d, at, v)
		if !d.bad(at) {
			d.checkSubscription(at, s)
		}
		*subs = append(*subs, s)
	}
}

func (d *decoder) missing(at path, name string) {
	d.failName(at, strictyaml.CodeMissing, at.to(name).String()+" is missing", "")
}
