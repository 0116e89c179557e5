package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// pressure is a fault or a load that the system gets for a phase. do begins the pressure, and returns when it has
// ended.
type pressure struct {
	name   string
	phases int // the length of the pressure, in phases; 0 = one
	do     func(s *site, length time.Duration)
}

func pressures() []pressure {
	return []pressure{
		{name: "PostgreSQL restarted", do: restartPostgres},
		{name: "backends killed", do: killBackends},
		{name: "pool exhausted", do: exhaustConnections},
		{name: "node killed", do: killNode},
		{name: "repeated kills", do: killNodes},
		{name: "idle in transaction", phases: 10, do: idleInTransaction},
		{name: "heavy readers", do: readHeavily},
		{name: "1.5 × load", do: func(s *site, length time.Duration) { s.loaded(150, length) }},
		{name: "burst", do: func(s *site, length time.Duration) { s.loaded(500, length/5) }},
	}
}

// restartPostgres stops the server, and starts it when the time is over.
func restartPostgres(s *site, length time.Duration) {
	s.postgres.Stop()
	<-time.After(length)
	s.postgres.Restart()
}

const breakBackends = `SELECT pg_terminate_backend(pid) FROM
	(SELECT pid FROM pg_stat_activity WHERE datname = $1 ORDER BY random() LIMIT $2) AS chosen`

// killBackends ends a backend of the ledger twice a second.
func killBackends(s *site, length time.Duration) {
	c := s.connect("postgres")
	defer c.close()
	for more := during(length); more(); <-time.After(time.Second / 2) {
		c.exec(breakBackends, s.ledger.Database, 1)
	}
}

// exhaustConnections breaks the connections of the nodes, and takes all connections that the server gives.
func exhaustConnections(s *site, length time.Duration) {
	c := s.connect("postgres")
	defer c.close()
	end := time.Now().Add(length)
	var held []*pgx.Conn
	take := func() {
		for {
			one, err := pgx.Connect(s.b.Context(), s.postgres.URL("postgres"))
			if err != nil {
				return
			}
			held = append(held, one)
		}
	}
	take()
	c.exec(breakBackends, s.ledger.Database, 1000)
	take()
	<-time.After(time.Until(end))
	for _, one := range held {
		_ = one.Close(s.b.Context())
	}
}

// killNode kills one of the two nodes, and starts it when the time is over.
func killNode(s *site, length time.Duration) {
	s.nodes[0].Load().end(syscall.SIGKILL)
	<-time.After(length)
	s.startNode(0)
}

// killNodes kills one node after the other, and starts it again at once.
func killNodes(s *site, length time.Duration) {
	const kills = 6
	for i := range kills {
		s.nodes[i%len(s.nodes)].Load().end(syscall.SIGKILL)
		s.startNode(i % len(s.nodes))
		<-time.After(length / kills)
	}
}

// idleInTransaction holds a transaction with a number, so that autovacuum can remove no row that dies meanwhile.
func idleInTransaction(s *site, length time.Duration) {
	c := s.connect(s.ledger.Database)
	defer c.close()
	c.exec("BEGIN")
	c.exec("SELECT txid_current()")
	<-time.After(length)
	c.exec("COMMIT")
}

// readHeavily lets four sessions read the largest tables again and again. Each session keeps a snapshot for 30 reads.
func readHeavily(s *site, length time.Duration) {
	var readers sync.WaitGroup
	for range 4 {
		c := s.connect(s.ledger.Database)
		readers.Go(func() {
			defer c.close()
			for more := during(length); more(); {
				c.exec("BEGIN ISOLATION LEVEL REPEATABLE READ")
				for range 5 {
					for _, table := range []string{"items", "open_items", "item_moves", "notices", "deliveries", "firings"} {
						c.exec("SELECT count(t::text) FROM " + table + " t")
					}
				}
				c.exec("COMMIT")
			}
		})
	}
	readers.Wait()
}

// loaded sets the load for a time, in percent of the normal load.
func (s *site) loaded(percent int64, length time.Duration) {
	s.factor.Store(percent)
	<-time.After(length)
	s.factor.Store(100)
}

// session is a connection on which statements must not fail.
type session struct {
	t testing.TB
	*pgx.Conn
}

func (s *site) connect(database string) session {
	s.b.Helper()
	c, err := pgx.Connect(s.b.Context(), s.postgres.URL(database))
	if err != nil {
		s.b.Fatal(err)
	}
	return session{s.b, c}
}

func (c session) exec(sql string, args ...any) {
	c.t.Helper()
	if _, err := c.Exec(c.t.Context(), sql, args...); err != nil && !errors.Is(err, context.Canceled) {
		c.t.Errorf("%s: %v", sql, err)
	}
}

func (c session) close() { _ = c.Close(context.WithoutCancel(c.t.Context())) }

// span is the time of a phase.
type span struct{ from, to time.Time }

const (
	warmUp       = 5 * time.Second // after the first jobs are done
	drainWithin  = 2 * time.Minute // the longest time for a backlog, in addition to the length of its pressure
	borderWithin = 3 * time.Second // the longest time that a phase waits for its begin or end
	leastRatio   = 0.98
	deadMultiple = 2 // the limit of dead rows in the end, as a multiple of the most in the clean phase
)

// pressured is the result of a pressure.
type pressured struct {
	name                     string
	clean, under, recovered  span
	drained                  time.Duration // from the end of the pressure until its backlog was gone
	cleanDead, mostDead, end int           // dead rows: at most in the clean phase, at most later, in the end
	largest                  string        // the table with the most dead rows
	w                        *workload
	inbox                    *tally
}

// BenchmarkPressure runs a system of two nodes at a constant load. For each pressure the system goes through a clean
// phase, the pressure, and a recovery.
func BenchmarkPressure(b *testing.B) {
	phase, err := time.ParseDuration(os.Getenv("PRESSURE_TIME"))
	if err != nil {
		b.Skip("it takes long: make bench-pressure")
	}
	program := nodeProgram(b)
	var list []pressured
	for _, p := range pressures() {
		b.Run(p.name, func(b *testing.B) {
			for b.Loop() {
				r := p.measure(b, program, phase)
				r.judge(b)
				list = append(list, r)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
	printRates(list)
	printDead(list)
}

func (p pressure) measure(b *testing.B, program string, phase time.Duration) pressured {
	b.Helper()
	s := newSite(b, program)
	s.await("do the first jobs", drainWithin, func() bool {
		return s.rateNow(s.items) > 0 && s.rateNow(s.calls) > 0
	})
	<-time.After(warmUp)
	r := pressured{name: p.name, w: s.workload}

	s.dead.mark()
	var open [2]int // the most open items and calls in the clean phase
	r.clean = s.phase(func() {
		for more := during(phase); more(); <-time.After(offerEvery) {
			open = [2]int{max(open[0], s.items.open()), max(open[1], s.calls.open())}
		}
	})
	r.cleanDead, _ = s.dead.mark()
	r.under.from = time.Now()
	p.do(s, phase*time.Duration(max(1, p.phases)))
	r.under.to = time.Now()
	s.await("work off the backlog", r.under.to.Sub(r.under.from)+drainWithin, func() bool {
		return s.items.open() <= open[0] && s.calls.open() <= open[1]
	})
	r.drained = time.Since(r.under.to)
	r.recovered = s.phase(func() { <-time.After(phase) })
	s.await("vacuum the dead rows", drainWithin, func() bool { return s.dead.count() <= r.deadBound() })
	r.end = s.dead.count()
	r.mostDead, r.largest = s.dead.mark()

	s.stopOffering()
	s.offering.Wait()
	s.await("do the last jobs", drainWithin, func() bool { return s.items.open() == 0 && s.calls.open() == 0 })
	s.readLedger()
	s.await("fill the inbox", drainWithin, func() bool {
		r.inbox = s.inbox()
		return r.inbox.open() == 0
	})
	return r
}

// phase runs do and returns the time of the phase. A phase begins and ends when hardly a job is open. So the jobs that
// the rules take in at a full second all count in one phase.
func (s *site) phase(do func()) span {
	border := func() time.Time {
		for end := time.Now().Add(borderWithin); time.Now().Before(end) && (s.items.open() > itemRate/10 || s.calls.open() > eventRate/5); {
			<-time.After(5 * time.Millisecond)
		}
		return time.Now()
	}
	from := border()
	do()
	return span{from, border()}
}

// await waits until done returns true, and fails the benchmark if this takes longer than within. what names the work.
func (s *site) await(what string, within time.Duration, done func() bool) {
	s.b.Helper()
	for end := time.Now().Add(within); !done(); <-time.After(offerEvery) {
		if time.Now().After(end) {
			s.b.Errorf("the system does not %s within %s", what, within)
			return
		}
	}
}

func (s *site) rateNow(y *tally) float64 {
	now := time.Now()
	return y.rate(span{now.Add(-time.Second), now})
}

func (r *pressured) deadBound() int { return deadMultiple*r.cleanDead + deadSlack }

// workloadRow is a line of the table of rates.
type workloadRow struct {
	name                             string
	clean, under, recovered          float64
	ratio                            float64
	offered, lost, doubled, repeated int
}

func (r *pressured) rows() []workloadRow {
	row := func(name string, y *tally) workloadRow {
		x := workloadRow{name: name, clean: y.rate(r.clean), under: y.rate(r.under), recovered: y.rate(r.recovered)}
		x.ratio = x.recovered / x.clean
		x.offered, x.lost, x.doubled, x.repeated = y.offered, y.open(), y.doubled, y.again
		return x
	}
	return []workloadRow{row("ledger", r.w.notices), row("queue", r.w.items), row("deliveries", r.w.calls)}
}

// judge fails the benchmark where the system has not recovered.
func (r *pressured) judge(b *testing.B) {
	b.Helper()
	var ratios []float64
	for _, x := range r.rows() {
		ratios = append(ratios, x.ratio)
		if x.ratio < leastRatio {
			b.Errorf("%s: the rate of %s is %.3f of what it was", r.name, x.name, x.ratio)
		}
		if x.lost > 0 || x.doubled > 0 {
			b.Errorf("%s: of %d jobs of %s %d are lost and %d doubled", r.name, x.offered, x.name, x.lost, x.doubled)
		}
	}
	if lost := r.inbox.open(); lost > 0 || r.inbox.doubled+r.inbox.again > 0 {
		b.Errorf("%s: of %d notices %d are not in the inbox, and %d are there twice", r.name, r.inbox.offered, lost, r.inbox.doubled+r.inbox.again)
	}
	b.ReportMetric(slices.Min(ratios), "recovered")
	b.ReportMetric(r.drained.Seconds(), "s-until-recovered")
	b.ReportMetric(float64(r.mostDead), "dead-rows-most")
	b.ReportMetric(float64(r.end), "dead-rows-end")
}

func printRates(list []pressured) {
	t := newTable("jobs per second", "pressure", "workload", "clean", "under pressure", "recovered", "ratio", "jobs", "lost", "doubled", "repeated calls")
	for _, r := range list {
		for _, x := range r.rows() {
			t.row(r.name, x.name, fmt.Sprintf("%.1f", x.clean), fmt.Sprintf("%.1f", x.under), fmt.Sprintf("%.1f", x.recovered), fmt.Sprintf("%.3f", x.ratio),
				thousands(float64(x.offered)), fmt.Sprint(x.lost), fmt.Sprint(x.doubled), fmt.Sprint(x.repeated))
		}
	}
	t.print()
}

func printDead(list []pressured) {
	t := newTable("recovery, and dead rows", "pressure", "s until recovered", "clean, at most", "later, at most", "in the end", "bound", "largest table")
	for _, r := range list {
		n := func(rows int) string { return thousands(float64(rows)) }
		t.row(r.name, fmt.Sprintf("%.1f", r.drained.Seconds()), n(r.cleanDead), n(r.mostDead), n(r.end), n(r.deadBound()), r.largest)
	}
	t.print()
}
