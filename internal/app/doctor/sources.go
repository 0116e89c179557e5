package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"

	"tallyman/internal/app"
	"tallyman/internal/authoring"
	"tallyman/internal/config"
	"tallyman/sinks"
)

func checkSources(ctx context.Context, cfg *config.Config, _ Options) []Finding {
	var list []Finding
	for _, s := range app.CheckSources(ctx, cfg) {
		if s.Error != "" {
			list = append(list, wrong(CodeSourceReach, s.Name, s.Error, "start the database, or correct sources."+s.Name+".url"))
			continue
		}
		list = append(list, ok(CodeSourceReach, s.Name, "the %s database answers", s.Driver), sourceRights(&s))
		setting := cfg.Sources[s.Name]
		if s.Clock != nil {
			list = append(list, clock(CodeSourceClock, s.Name, s.Clock.Server, s.Clock.Before, s.Clock.After), sourceZone(&s, &setting))
		}
		list = append(list, sourceCertificate(ctx, &s, &setting)...)
	}
	return list
}

// sourceCertificate looks when the certificate of a source's server ends. A server without TLS gives no finding.
func sourceCertificate(ctx context.Context, s *app.SourceCheck, setting *config.Source) []Finding {
	switch {
	case setting.Driver == config.Postgres:
		return postgresCertificate(ctx, s.Name, setting.URL.Reveal())
	case setting.Driver == "oracle" && strings.Contains(setting.URL.Reveal(), "tls=true"):
		return []Finding{skipped(CodeCertificate, s.Name, "not checked: the driver of Oracle does not show the server's certificate")}
	case len(s.Certificates) > 0:
		return []Finding{ends(s.Name, firstEnd(s.Certificates))}
	}
	return nil
}

// sourceRights warns of a user that may write. Probes that call a function that does more than read are refused in any
// case.
func sourceRights(s *app.SourceCheck) Finding {
	var writes []string
	for _, d := range s.Dangers {
		if d.Writes {
			writes = append(writes, d.Name)
		}
	}
	const way = "`tallyman config check --source` prints the REVOKE; `tallyman init --sql` prints a user that may only read"
	switch {
	case len(writes) > 0:
		return warning(CodeSourceRights, s.Name, "its user may write: "+named(writes), way)
	case s.Unasked:
		return ok(CodeSourceRights, s.Name, "%s cannot report the rights of a user", s.Driver)
	case len(s.Dangers) > 0:
		return ok(CodeSourceRights, s.Name, "its user may not write; probes that call one of %d functions that do more than read are refused", len(s.Dangers))
	}
	return ok(CodeSourceRights, s.Name, "its user may read; no other right was found")
}

func sourceZone(s *app.SourceCheck, setting *config.Source) Finding {
	zone := authoring.OtherZone(s.Clock.Server)
	switch {
	case setting.Timezone.Location != nil:
		return ok(CodeSourceZone, s.Name, "times without a zone are in %s", setting.Timezone.Location)
	case zone != "":
		return warning(CodeSourceZone, s.Name, "the server's time zone is "+zone+", and times without a zone are read as UTC", "set sources."+s.Name+".timezone")
	}
	return ok(CodeSourceZone, s.Name, "times without a zone are in UTC, as on the server")
}

// checkSinks connects to the server of each push channel that has one, and sends nothing.
func checkSinks(ctx context.Context, cfg *config.Config, _ Options) []Finding {
	var list []Finding
	for _, name := range slices.Sorted(maps.Keys(cfg.Sinks)) {
		channel, isPush := cfg.Sinks[name].(sinks.ChannelSettings)
		reachable, hasServer := channel.(sinks.Reachable)
		switch {
		case !isPush:
		case !hasServer:
			list = append(list, skipped(CodeSinkReach, name, "not checked: a sink of type %s names no server", channel.TypeName()))
		default:
			list = append(list, reach(ctx, name, reachable.Endpoint())...)
		}
	}
	return list
}

func reach(ctx context.Context, name string, e sinks.Endpoint) []Finding {
	const way = "start the server, or correct the sink: docs/runbooks/delivery-fails.md"
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", e.Address)
	if err != nil {
		return []Finding{wrong(CodeSinkReach, name, err.Error(), way)}
	}
	defer func() { _ = conn.Close() }()
	if !e.TLS {
		return []Finding{ok(CodeSinkReach, name, "%s takes connections", e.Address)}
	}
	c, err := clientTLS(e)
	if err != nil {
		return []Finding{wrong(CodeSinkReach, name, err.Error(), "correct the tls files of the sink")}
	}
	secured := tls.Client(conn, c)
	if err := secured.HandshakeContext(ctx); err != nil {
		return []Finding{wrong(CodeSinkReach, name, fmt.Sprintf("%s: TLS: %v", e.Address, err), "renew the server's certificate, or name its authority with ca")}
	}
	return []Finding{ok(CodeSinkReach, name, "%s takes connections with TLS", e.Address), ends(name, firstEnd(secured.ConnectionState().PeerCertificates))}
}

func clientTLS(e sinks.Endpoint) (*tls.Config, error) {
	c := &tls.Config{ServerName: e.ServerName, MinVersion: tls.VersionTLS12}
	if e.CA != "" {
		text, err := os.ReadFile(e.CA)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, errors.New("the file " + e.CA + " has no certificate")
		}
	}
	if e.Cert != "" {
		pair, err := tls.LoadX509KeyPair(e.Cert, e.Key)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
