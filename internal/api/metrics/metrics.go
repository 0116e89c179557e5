package metrics

import (
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"tallyman/internal/ledger"
	"tallyman/internal/session"
)

// Metrics counts events of the engine and the API. Its methods may be called from many goroutines.
type Metrics struct {
	registry   *prometheus.Registry
	notices    *prometheus.CounterVec
	runs       *prometheus.CounterVec
	rows       *prometheus.CounterVec
	runTime    prometheus.Histogram
	runSeconds *prometheus.CounterVec
	requests   *prometheus.CounterVec
	reloads    *prometheus.CounterVec
	problems   prometheus.Gauge
	lastReload prometheus.Gauge
	deliveries *prometheus.CounterVec
	took       *prometheus.HistogramVec
	firingLag  prometheus.Histogram
	polls      *prometheus.CounterVec
	pollTime   prometheus.Histogram
	streams    prometheus.Gauge
	streamEnds *prometheus.CounterVec
	refusals   *prometheus.CounterVec
	sessions   *prometheus.CounterVec
	unsampled  prometheus.Counter

	types, rules, sinks names
}

// New makes the metrics of a process. version is the version of the program.
func New(version, goVersion string) (*Metrics, error) {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		notices: counter("notices_total", "Notices that this node made, by type and by status: firing, resolved, event or sent.",
			"type", "status"),
		runs: counter("runs_total", "Runs of rules, by rule and by outcome: ok, degraded, failed or skipped.",
			"rule", "outcome"),
		rows: counter("rows_total", "Rows that probes returned, by rule and by outcome: matched, unmatched, errored or stray (of no scope).",
			"rule", "outcome"),
		runTime: histogram("run_duration_seconds", "Duration of runs, from the claim to the commit.",
			[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}),
		runSeconds: counter("run_seconds_total", "Time that the runs of a rule took together, by rule.", "rule"),
		requests: counter("http_requests_total", "Answered requests of the API, by operation and by class of the status: 2xx, 3xx, 4xx or 5xx.",
			"operation", "class"),
		reloads: counter("rule_reloads_total", "Readings of the rule files, by outcome: ok, problems (a file is bad; its last good version stays) or failed.",
			"outcome"),
		problems: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "rule_problems", Help: "Problems in the rule files, as of the last reading.",
		}),
		lastReload: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "rule_reload_timestamp_seconds", Help: "When the rule files were last read and came into force.",
		}),
		deliveries: counter("deliveries_total", "Attempts to deliver a notice, by sink and by outcome: sent, retried, failed, timed_out or canceled.",
			"sink", "outcome"),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "delivery_duration_seconds",
			Help:    "Time from the creation of a notice until its sink took the delivery, by sink. A rule creates its notices at the start of the pass, before the scan.",
			Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200},
		}, []string{"sink"}),
		firingLag: histogram("firing_lag_seconds", "Delay of firings: from the due time to the start.",
			[]float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800}),
		polls: counter("polls_total", "Polls of inboxes, by outcome.", "outcome"),
		pollTime: histogram("poll_duration_seconds", "Duration of polls, without the time that a poll waits for something new.",
			[]float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "streams", Help: "Streams that are open on this node.",
		}),
		streamEnds: counter("streams_ended_total", "Streams that have ended, by reason.", "reason"),
		sessions:   counter("session_events_total", "Events of sessions, by event: buried (this node ended the session of a dead node), lost (another node ended this node's session), lapsed (this node could not renew its session in time).", "event"),
		unsampled: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "samples_failed_total", Help: "Samples for the charts of the console that this node failed to record.",
		}),
		refusals: counter("commits_refused_total", "Commits that the ledger refused, by reason.", "reason"),
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "Always 1; the labels say which version of the program runs, made by which Go.",
	}, []string{"version", "go"})
	build.WithLabelValues(version, goVersion).Set(1)
	for _, outcome := range []string{reloadOK, reloadProblems, reloadFailed} { // Starts at 0, because Prometheus sees no increase in a series that begins with 1.
		m.reloads.WithLabelValues(outcome)
	}
	for _, reason := range ledger.RefusalReasons() {
		m.refusals.WithLabelValues(string(reason))
	}
	for _, event := range session.Events() {
		m.sessions.WithLabelValues(string(event))
	}
	for _, c := range []prometheus.Collector{
		m.refusals, m.sessions, m.unsampled, m.notices, m.runs, m.rows, m.runTime, m.runSeconds, m.requests, m.reloads, m.problems, m.lastReload, m.deliveries, m.took, m.firingLag, m.polls, m.pollTime, m.streams, m.streamEnds, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := m.registry.Register(c); err != nil {
			return nil, fmt.Errorf("register a metric: %w", err)
		}
	}
	return m, nil
}

const namespace = "tallyman"

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
}

// Gatherer returns the metrics for /metrics.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Register adds a collector of another part of the program.
func (m *Metrics) Register(c prometheus.Collector) error { return m.registry.Register(c) }

// RunDone counts a run and its rows. A skipped run has no duration.
func (m *Metrics) RunDone(run ledger.Run) {
	rule := m.rules.bounded(run.Rule)
	m.runs.WithLabelValues(rule, string(run.Outcome)).Inc()
	for i, n := range [len(rowOutcomes)]int{run.Matched, run.Rows - run.Matched - run.Errored, run.Errored, run.Strays} {
		if n > 0 { // With per: result, a result without rows can count as one errored row.
			m.rows.WithLabelValues(rule, rowOutcomes[i]).Add(float64(n))
		}
	}
	if run.Outcome != ledger.OutcomeSkipped {
		m.runTime.Observe(run.Duration.Seconds())
		m.runSeconds.WithLabelValues(rule).Add(run.Duration.Seconds())
	}
}

// NoticeMade counts a notice.
func (m *Metrics) NoticeMade(noticeType, status string) {
	m.notices.WithLabelValues(m.types.bounded(noticeType), status).Inc()
}

// DeliveryDone counts n deliveries to a sink with the same outcome.
func (m *Metrics) DeliveryDone(sink, outcome string, n int) {
	m.deliveries.WithLabelValues(m.sinks.bounded(sink), outcome).Add(float64(n))
}

// DeliveryTook records the duration of a delivery. The two times can come from two machines with slightly different
// clocks, so a negative duration counts as 0.
func (m *Metrics) DeliveryTook(sink string, d time.Duration) {
	m.took.WithLabelValues(m.sinks.bounded(sink)).Observe(max(d, 0).Seconds())
}

// CommitRefused counts a commit that the ledger refused.
func (m *Metrics) CommitRefused(reason ledger.RefusalReason) {
	m.refusals.WithLabelValues(string(reason)).Inc()
}

// SessionEvent counts an event of a node's session.
func (m *Metrics) SessionEvent(e session.Event) { m.sessions.WithLabelValues(string(e)).Inc() }

// SampleFailed counts a sample that was not recorded.
func (m *Metrics) SampleFailed() { m.unsampled.Inc() }

// FiringLag records how late a firing was.
func (m *Metrics) FiringLag(d time.Duration) { m.firingLag.Observe(d.Seconds()) }

// PollDone counts a poll.
func (m *Metrics) PollDone(outcome string, took time.Duration) {
	m.polls.WithLabelValues(outcome).Inc()
	m.pollTime.Observe(took.Seconds())
}

// StreamOpened counts a new open stream.
func (m *Metrics) StreamOpened() { m.streams.Inc() }

// StreamEnded counts the end of a stream.
func (m *Metrics) StreamEnded(reason string) {
	m.streams.Dec()
	m.streamEnds.WithLabelValues(reason).Inc()
}

// RequestDone counts a request. operation is an id of the OpenAPI document, or (none) for a request without an
// operation.
func (m *Metrics) RequestDone(operation string, status int) {
	m.requests.WithLabelValues(operation, strconv.Itoa(status/100)+"xx").Inc()
}
