package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tallyman/internal/certs"
	"tallyman/internal/config"
)

// checkListen looks whether the address of the API is free, or a node of Tallyman has it.
func checkListen(ctx context.Context, cfg *config.Config, _ Options) []Finding {
	address := cfg.HTTP.Listen
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err == nil {
		_ = ln.Close() // The listener was made only for the check.
		return []Finding{ok(CodeListen, "", "%s is free", address)}
	}
	if errors.Is(err, syscall.EADDRINUSE) && isNode(ctx, cfg) {
		return []Finding{ok(CodeListen, "", "a node listens on %s", address)}
	}
	return []Finding{wrong(CodeListen, "", fmt.Sprintf("cannot listen on %s: %v", address, err), "stop the other program, or change http.listen")}
}

// isNode tells whether a node of Tallyman answers at the address of the API.
func isNode(ctx context.Context, cfg *config.Config) bool {
	address, known := cfg.HTTP.OwnURL()
	if !known {
		return false
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/healthz", nil)
	if err != nil {
		return false
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the certificate is another check
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport, Timeout: 5 * time.Second}).Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1000))
	return err == nil && strings.Contains(string(body), `"status":"alive"`)
}

const (
	leastFiles = 1024
	spareFiles = 500 // Open files that are no streams: connections of pools, rule files, the log.
)

// checkOpenFiles compares how many files the process may open with how many streams the node keeps open.
func checkOpenFiles(_ context.Context, cfg *config.Config, _ Options) []Finding {
	limit, known := openFiles()
	if !known {
		return nil
	}
	found := fmt.Sprintf("%d open files are allowed, http.max_streams is %d", limit, cfg.HTTP.MaxStreams)
	const way = "raise LimitNOFILE of the unit or `ulimit -n`, or lower http.max_streams"
	switch {
	case limit < leastFiles:
		return []Finding{wrong(CodeOpenFiles, "", found, way)}
	case limit < uint64(max(cfg.HTTP.MaxStreams, 0))+spareFiles:
		return []Finding{warning(CodeOpenFiles, "", found, way)}
	}
	return []Finding{ok(CodeOpenFiles, "", "%s", found)}
}

// checkTimeZones looks whether the database of time zones can be read. Schedules and sources need it.
func checkTimeZones(context.Context, *config.Config, Options) []Finding {
	here, _ := time.Now().Zone()
	if _, err := time.LoadLocation("Asia/Shanghai"); err != nil {
		return []Finding{wrong(CodeTimeZones, "", "the time zone Asia/Shanghai cannot be loaded: "+err.Error(), "install the package tzdata")}
	}
	return []Finding{ok(CodeTimeZones, "", "time zones can be loaded; this machine is in %s", here)}
}

const (
	leastDisk   = 1 << 30
	fullDisk    = 100 << 20
	leastShare  = 10 // Percent.
	bytesPerMiB = 1 << 20
)

// checkDisk checks the free space of the folder in which the site keeps its data. This is the folder of the SQLite
// ledger, or else the folder of the configuration.
func checkDisk(_ context.Context, cfg *config.Config, _ Options) []Finding {
	folder := filepath.Dir(cfg.File)
	if cfg.Ledger.Driver == config.SQLite {
		folder = filepath.Dir(cfg.Ledger.Path)
	}
	free, size, known := space(folder)
	if !known || size == 0 {
		return nil
	}
	return []Finding{diskFinding(folder, free, size)}
}

// diskFinding returns the finding about the free and the whole space of a disk, in bytes.
func diskFinding(folder string, free, size uint64) Finding {
	share := free * 100 / size
	found := fmt.Sprintf("%d MB (%d %%) are free in %s", free/bytesPerMiB, share, folder)
	const way = "free or add disk space: a ledger that cannot grow refuses commits"
	switch {
	case free < fullDisk:
		return wrong(CodeDisk, "", found, way)
	case free < leastDisk || share < leastShare:
		return warning(CodeDisk, "", found, way)
	}
	return ok(CodeDisk, "", "%s", found)
}

const (
	soon     = 30 * 24 * time.Hour
	verySoon = 7 * 24 * time.Hour
)

// ends returns the finding about the end of a certificate.
func ends(about string, end time.Time) Finding {
	left := time.Until(end)
	found := fmt.Sprintf("the certificate ends at %s, in %d days", end.UTC().Format(time.RFC3339), int(left.Hours()/24))
	const way = "renew the certificate"
	switch {
	case left <= 0:
		return wrong(CodeCertificate, about, "the certificate ended at "+end.UTC().Format(time.RFC3339), way)
	case left < verySoon:
		return wrong(CodeCertificate, about, found, way)
	case left < soon:
		return warning(CodeCertificate, about, found, way)
	}
	return ok(CodeCertificate, about, "%s", found)
}

// checkCertificate looks when the certificate of the API ends. Whether the files are valid is part of checkConfig.
func checkCertificate(_ context.Context, cfg *config.Config, _ Options) []Finding {
	if !cfg.HTTP.TLS.On() {
		return nil
	}
	cert, err := os.ReadFile(string(cfg.HTTP.TLS.Cert))
	if err != nil {
		return nil
	}
	key, err := os.ReadFile(string(cfg.HTTP.TLS.Key))
	if err != nil {
		return nil
	}
	pair, err := certs.ParsePair(cert, key)
	if err != nil {
		return nil
	}
	return []Finding{ends("http.tls", pair.Leaf.NotAfter)}
}

// firstEnd returns when the first of some certificates ends.
func firstEnd(list []*x509.Certificate) (end time.Time) {
	for _, c := range list {
		if end.IsZero() || c.NotAfter.Before(end) {
			end = c.NotAfter
		}
	}
	return end
}
