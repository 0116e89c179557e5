package bench

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// measureVmalert lets vmalert evaluate 10,000 groups of one rule every minute. The rules find nothing, like the rules
// of the first load of BenchmarkFirings. The rows of the WMS are series of a victoria-metrics on the same machine.
func measureVmalert(b *testing.B, span time.Duration) {
	b.Helper()
	const rules, warehouses, bins = 10_000, 1_000, 20
	dir := b.TempDir()
	store := startPeer(b, dir, "victoria-metrics", "-storageDataPath="+filepath.Join(dir, "data"))
	for at := -time.Minute; at < settleTime+span+5*time.Minute; at += 4 * time.Minute { // a query looks back for five minutes
		stamp := time.Now().Add(at).UnixMilli()
		var lines strings.Builder
		for w := range warehouses {
			for n := range bins {
				fmt.Fprintf(&lines, "bin_stock{wh_id=\"%d\",bin_code=\"B-%d\"} %d %d\n", w+1, n+1, n+1, stamp)
			}
		}
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, store.base+"/api/v1/import/prometheus", strings.NewReader(lines.String()))
		if err != nil {
			b.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		if _ = answer.Body.Close(); answer.StatusCode >= http.StatusBadRequest {
			b.Fatal(answer.Status)
		}
	}
	var groups strings.Builder
	groups.WriteString("groups:\n")
	for r := range rules {
		fmt.Fprintf(&groups, `  - name: rule-%d
    interval: 1m
    rules:
      - alert: NegativeBinStock
        expr: bin_stock{wh_id="%d"} < 0
        annotations: {title: "Bin {{ $labels.bin_code }} is at {{ $value }}", body: "{{ $labels.bin_code }} is at {{ $value }}."}
`, r, r%warehouses+1)
	}
	write(b, dir, "groups.yaml", groups.String())
	peer := startPeer(b, dir, "vmalert", "-rule="+filepath.Join(dir, "groups.yaml"), "-datasource.url="+store.base, "-notifier.url=http://127.0.0.1:9")
	// No alert fires, so no notifier runs. vmalert spreads the first evaluations over an interval.
	<-time.After(time.Minute + settleTime)

	before, peerCPU, storeCPU, from := peer.scrape(), peer.cpu(), store.cpu(), time.Now()
	<-time.After(span)
	after, took := peer.scrape(), time.Since(from).Seconds()
	b.ReportMetric((after.sum("vmalert_iteration_total", "")-before.sum("vmalert_iteration_total", ""))/took, "firings/s")
	b.ReportMetric(float64(rules)/60, "due/s")
	b.ReportMetric(after.sum("vmalert_iteration_missed_total", "")-before.sum("vmalert_iteration_missed_total", ""), "missed")
	b.ReportMetric((peer.cpu()-peerCPU)/took, "cores-node")
	b.ReportMetric((store.cpu()-storeCPU)/took, "cores-store")
	b.ReportMetric(peer.memory()/rules/1024, "KiB/scope")
	b.ReportMetric(peer.memory()/1024/1024, "MiB-node")
	if failed := after.sum("vmalert_alerting_rules_errors_total", ""); failed > 0 {
		b.Errorf("%.0f evaluations failed", failed)
	}
}

// startPeer starts a program of VictoriaMetrics and waits until it answers.
func startPeer(b *testing.B, dir, program string, args ...string) *nodeProcess {
	b.Helper()
	if _, err := exec.LookPath(program); err != nil {
		b.Skip("scripts/test-deps.sh victoria-metrics installs it: ", err)
	}
	free, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	log, err := os.Create(filepath.Join(dir, program+".log"))
	if err != nil {
		b.Fatal(err)
	}
	n := &nodeProcess{t: b, started: time.Now(), base: "http://" + address, cmd: exec.Command(program, append(args, "-httpListenAddr="+address)...)}
	n.cmd.Stdout, n.cmd.Stderr = log, log
	if err := n.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		n.end(syscall.SIGTERM)
		_ = log.Close()
	})
	for {
		answer, err := http.Get(n.base + "/health")
		if err == nil {
			_ = answer.Body.Close()
			return n
		}
		if time.Since(n.started) > time.Minute {
			text, _ := os.ReadFile(log.Name())
			b.Fatalf("%s does not answer: %s", program, text)
		}
		<-time.After(100 * time.Millisecond)
	}
}
