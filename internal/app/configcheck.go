package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tallyman/internal/authoring"
	"tallyman/internal/config"
	"tallyman/internal/origin"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
	"tallyman/scanners"
	"tallyman/sinks"
)

// The codes of settings that are valid by themselves, but would keep a node from starting.
const (
	CodeSource          = "bad_source"
	CodeChannel         = "bad_channel"
	CodeTemplate        = "bad_template"
	CodeTLS             = "bad_tls"
	CodePublicKey       = "bad_public_key"
	CodeSubscription    = "unknown_type"
	CodeSubscriptionSQL = "bad_subscription_query"
)

// CheckConfig makes every part that a node makes of its configuration before it connects to anything. CheckConfig
// returns the problems that would keep the node from starting.
func CheckConfig(ctx context.Context, cfg *config.Config) problem.List {
	types, list := catalog.Load(cfg.Types.Path, catalog.OnSinks(authoring.Sinks(cfg)))
	if len(list) == 0 {
		maps.Copy(types, catalog.BuiltIn())
		list = checkSubscriptions(cfg, types)
	}
	if from := cfg.Subscriptions.From; from != nil {
		if _, err := origin.Parse(from.SQL); err != nil {
			list = append(list, cfg.Problem("subscriptions.sql", CodeSubscriptionSQL, "subscriptions.sql: "+err.Error(), "one SELECT without parameters, of the columns subscriber, type and warehouse"))
		}
	}
	list = append(list, checkSources(ctx, cfg)...)
	list = append(list, checkChannels(cfg)...)
	if _, err := openTLS(&cfg.HTTP.TLS, slog.New(slog.DiscardHandler)); err != nil {
		list = append(list, cfg.Problem("http.tls", CodeTLS, err.Error(), ""))
	}
	if jwt := cfg.Auth.JWT; jwt != nil && jwt.PublicKey != "" {
		if _, err := publicKey(string(jwt.PublicKey)); err != nil {
			list = append(list, cfg.Problem("auth.jwt.public_key", CodePublicKey, err.Error(), ""))
		}
	}
	return list
}

// checkSubscriptions reports subscriptions to types that the catalogue does not have. A new ledger would refuse them.
func checkSubscriptions(cfg *config.Config, types catalog.Catalog) problem.List {
	var list problem.List
	for i, s := range cfg.Subscriptions.Seed {
		if _, found := types[s.Type]; found {
			continue
		}
		hint := problem.DidYouMean(s.Type, types.Codes())
		if hint == "" {
			hint = "types: " + strings.Join(types.Codes(), ", ")
		}
		list = append(list, cfg.Problem(fmt.Sprintf("subscriptions[%d].type", i), CodeSubscription,
			fmt.Sprintf("subscriptions[%d].type: the catalogue has no type %q", i, s.Type), hint))
	}
	return list
}

// checkSources opens every source, without connecting.
func checkSources(ctx context.Context, cfg *config.Config) problem.List {
	var list problem.List
	for _, name := range slices.Sorted(maps.Keys(cfg.Sources)) {
		source, err := openSource(ctx, name, cfg.Sources[name])
		if err == nil {
			_ = source.Close() // The source has no connection, so an error has no consequence.
			continue
		}
		message, hint := err.Error(), ""
		if e, ok := errors.AsType[*scanners.Error](err); ok {
			message, hint = e.Err.Error(), e.Hint
		}
		list = append(list, cfg.Problem("sources."+name+".url", CodeSource, "sources."+name+".url: "+message, hint))
	}
	return list
}

// checkChannels opens and closes every push channel, to find problems of addresses, templates and certificates.
func checkChannels(cfg *config.Config) problem.List {
	site := sinks.Site{Book: nobody{}, Stdout: io.Discard, Logger: slog.New(slog.DiscardHandler)}
	var list problem.List
	for name, s := range channelsOf(cfg.Sinks) {
		channel, err := s.Open(site)
		if err == nil {
			channel.Close()
			continue
		}
		if p, found := templateProblem(err); found {
			list = append(list, p)
			continue
		}
		list = append(list, cfg.Problem("sinks."+name, CodeChannel, "sinks."+name+": "+err.Error(), ""))
	}
	return list
}

// templateFault matches an error of text/template or of the policy of texts: file, line, perhaps a column, and the
// fault.
var templateFault = regexp.MustCompile(`(?:template: | template: |sample: )*(/[^:]+):([0-9]+):(?:([0-9]+):)? (.+)`)

// templateProblem returns the error as a problem with its place in the template file.
func templateProblem(err error) (problem.Problem, bool) {
	m := templateFault.FindStringSubmatch(err.Error())
	if m == nil {
		return problem.Problem{}, false
	}
	line, _ := strconv.Atoi(m[2])   // No error: the expression matches only digits.
	column, _ := strconv.Atoi(m[3]) // 0 means unknown.
	src, err := os.ReadFile(m[1])
	if err != nil {
		return problem.Problem{}, false
	}
	text := ""
	if lines := strings.Split(string(src), "\n"); line >= 1 && line <= len(lines) {
		text = lines[line-1]
	}
	return problem.At(m[1], text, line, max(column, 1), CodeTemplate, m[4], "docs/how-to/channels.md lists all names that a template may use"), true
}
