package postgres

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
)

// BenchmarkGrowth fills a ledger with notices of 30 days. It measures the queries of nodes and consoles, and the
// pruning of a day. GROWTH_NOTICES lists numbers of notices, such as 1000000,10000000: then it measures each of them,
// and prints the ratio of the last to the first. bench/README.md has more.
func BenchmarkGrowth(b *testing.B) {
	sizes := os.Getenv("GROWTH_NOTICES")
	if sizes == "" {
		sizes = "200000"
	}
	var all []*growth
	for size := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(size))
		if err != nil || n < 2*grownScopes*grownBatch {
			b.Fatalf("GROWTH_NOTICES=%s: each is a number of at least %d", sizes, 2*grownScopes*grownBatch)
		}
		b.Run(size, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				server := testenv.PostgresServer(b)
				g := &growth{grownLedger: growLedger(b, server.Database(), n)}
				b.StartTimer()
				g.measure(b)
				all = append(all, g)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
	printGrowth(all)
}

// growth is a ledger with its measured values.
type growth struct {
	*grownLedger
	bytes    int64 // size of notices and their deliveries, with indexes
	measured []measured
	commit   int // number of the last commit of measuredCommit
}

// measured has the times of a query.
type measured struct {
	name     string
	p50, p99 time.Duration
}

const (
	growthRounds = 200
	growthTime   = 3 * time.Second // time for each query; at least 20 rounds
	growthPrunes = 5               // days
)

// ask repeats the query and records its times.
func (g *growth) ask(b *testing.B, name string, question func(ctx context.Context) error) {
	b.Helper()
	for range 5 { // warm up: plans, and pages in memory
		check(b, question(b.Context()))
	}
	var took []time.Duration
	for began := time.Now(); len(took) < growthRounds && (len(took) < 20 || time.Since(began) < growthTime); {
		at := time.Now()
		err := question(b.Context())
		took = append(took, time.Since(at))
		if err != nil {
			b.Fatalf("%s: %v", name, err)
		}
	}
	g.report(name, took)
}

func (g *growth) report(name string, took []time.Duration) {
	slices.Sort(took)
	m := measured{name, took[len(took)/2], took[len(took)*99/100]}
	g.measured = append(g.measured, m)
	// Shows the progress, because a large ledger takes long.
	fmt.Fprintf(os.Stdout, "%d notices: %s: p50 %s, p99 %s of %d\n", g.notices, name, m.p50, m.p99, len(took))
}

// measure runs all queries. Those that change the ledger come last.
func (g *growth) measure(b *testing.B) {
	b.Helper()
	g.bytes = g.sizeOf(b, "notices", "deliveries")
	g.askSearch(b)
	g.askConsole(b)
	g.askQueue(b)
	g.askInbox(b)
	g.commitAndDeliver(b)
	g.prune(b)
}

// askSearch runs the searches of GET /notices/search and of the page of a notice.
func (g *growth) askSearch(b *testing.B) {
	b.Helper()
	middle, _ := g.notice(g.notices / 2 / grownBatch * grownBatch)
	for _, c := range []struct {
		name   string
		filter ledger.NoticeFilter
	}{
		{"all", ledger.NoticeFilter{}},
		{"warehouse", ledger.NoticeFilter{Warehouses: []string{"WH03"}}},
		{"type", ledger.NoticeFilter{Types: []string{"TYPE_07"}}},
		{"rule", ledger.NoticeFilter{Rule: "rule-07"}},
		{"type that there is not", ledger.NoticeFilter{Types: []string{"NONE"}}},
		{"finding", ledger.NoticeFilter{Rule: middle.Rule, Scope: &middle.Scope, Finding: middle.Key}},
		{"part of a key", ledger.NoticeFilter{Key: "A-01"}},
		{"part of a key that there is not", ledger.NoticeFilter{Key: "Z-99-"}},
		{"an hour 15 days ago", ledger.NoticeFilter{From: middle.CreatedAt, To: middle.CreatedAt.Add(time.Hour)}},
		{"status and priority", ledger.NoticeFilter{Statuses: []notice.Status{notice.Resolved}, Priority: 5}},
		{"page of 15 days ago", ledger.NoticeFilter{Before: ledger.NoticePlace{At: middle.CreatedAt, N: 1, ID: "n"}}},
	} {
		c.filter.Limit = 50
		g.ask(b, "search: "+c.name, func(ctx context.Context) error { _, err := g.SearchNotices(ctx, c.filter); return err })
	}
	ids, k := make([]string, 50), 0
	for i := range ids {
		n, _ := g.notice(i * (g.notices / len(ids)))
		ids[i] = n.ID
	}
	next := func() string { k++; return ids[k%len(ids)] }
	g.ask(b, "notice by id", func(ctx context.Context) error {
		found, err := g.Trace(ctx, "", "", nil, []string{next()}, 1)
		if err == nil && (len(found) != 1 || len(found[0].Deliveries) != 1) {
			return fmt.Errorf("%d were found", len(found))
		}
		return err
	})
	g.ask(b, "50 notices by id", func(ctx context.Context) error {
		found, err := g.Notices(ctx, ids)
		if err == nil && len(found) != len(ids) {
			return fmt.Errorf("%d were found", len(found))
		}
		return err
	})
	g.ask(b, "deliveries of a notice", g.lists(ledger.DeliveryFilter{Notice: next(), Limit: 100}, 1))
	g.ask(b, "run that made a notice", func(ctx context.Context) error {
		_, err := g.RunAt(ctx, grownRule(0), grownWarehouse(0), g.now)
		return err
	})
	g.ask(b, "trace of a finding", func(ctx context.Context) error {
		_, err := g.Trace(ctx, middle.Rule, middle.Scope, []string{middle.Key}, nil, 50)
		return err
	})
}

// lists lists deliveries and checks their number.
func (g *growth) lists(f ledger.DeliveryFilter, want int) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		found, err := g.ListDeliveries(ctx, f)
		if err == nil && len(found) != want {
			return fmt.Errorf("%d deliveries were found, want %d", len(found), want)
		}
		return err
	}
}

// askConsole runs the queries of the console's pages.
func (g *growth) askConsole(b *testing.B) {
	b.Helper()
	hour := g.now.Truncate(time.Hour)
	g.ask(b, "overview: notices of the hour, by minute", func(ctx context.Context) error {
		_, err := g.CountNotices(ctx, g.now.Add(-time.Hour), g.now, time.Minute)
		return err
	})
	g.ask(b, "overview: notices of an hour", func(ctx context.Context) error {
		_, err := g.CountNotices(ctx, hour.Add(-20*time.Hour), hour.Add(-19*time.Hour), time.Hour)
		return err
	})
	g.ask(b, "overview: open findings", func(ctx context.Context) error { _, err := g.CountFindings(ctx); return err })
	g.ask(b, "overview: pending deliveries", func(ctx context.Context) error { _, err := g.CountPending(ctx); return err })
	g.ask(b, "overview: oldest delivery", func(ctx context.Context) error { _, err := g.OldestPending(ctx); return err })
	g.ask(b, "sinks: deliveries by state", func(ctx context.Context) error { _, err := g.CountDeliveries(ctx); return err })
	const page = 51
	for _, c := range []struct {
		name   string
		filter ledger.DeliveryFilter
	}{
		{"all", ledger.DeliveryFilter{}},
		{"pending", ledger.DeliveryFilter{States: []ledger.DeliveryState{ledger.DeliveryPending}}},
		{"sent", ledger.DeliveryFilter{States: []ledger.DeliveryState{ledger.DeliverySent}}},
		{"sink and canceled", ledger.DeliveryFilter{Sink: "inbox", States: []ledger.DeliveryState{ledger.DeliveryCanceled}}},
		{"warehouse", ledger.DeliveryFilter{Warehouse: "WH03"}},
		{"rule", ledger.DeliveryFilter{Rule: "rule-07"}},
		{"type", ledger.DeliveryFilter{Type: "TYPE_07"}},
		{"page of 15 days ago", ledger.DeliveryFilter{Before: int64(g.notices / 2)}},
	} {
		c.filter.Limit = page
		g.ask(b, "deliveries: "+c.name, g.lists(c.filter, page))
	}
	g.ask(b, "delivery by number", func(ctx context.Context) error { _, err := g.Delivery(ctx, int64(g.notices/2)); return err })
	scope := grownWarehouse(3)
	g.ask(b, "runs of a rule", func(ctx context.Context) error { _, err := g.Runs(ctx, grownRule(3), nil, 50); return err })
	g.ask(b, "runs of a rule in a scope", func(ctx context.Context) error { _, err := g.Runs(ctx, grownRule(3), &scope, 50); return err })
	g.ask(b, "rules: last runs", func(ctx context.Context) error { _, err := g.LastRuns(ctx); return err })
	g.ask(b, "rules: sums of runs", func(ctx context.Context) error { _, err := g.RunSums(ctx); return err })
	g.ask(b, "rules: progress", func(ctx context.Context) error { _, err := g.Progress(ctx); return err })
}

// askQueue runs the queries of a queue's pages, and the reads of a queue's rebuild.
func (g *growth) askQueue(b *testing.B) {
	b.Helper()
	last := g.item(g.items / 2)
	g.ask(b, "queue: items that are done", func(ctx context.Context) error {
		_, _, err := g.EndedItems(ctx, "queue", item.Done, nil, 0, 50)
		return err
	})
	g.ask(b, "queue: done, of a warehouse", func(ctx context.Context) error {
		_, _, err := g.EndedItems(ctx, "queue", item.Done, item.Scope{"WH03"}, 0, 50)
		return err
	})
	g.ask(b, "queue: 500 unfinished items", func(ctx context.Context) error { _, err := g.UnfinishedItems(ctx, "queue", 0, 500); return err })
	g.ask(b, "queue: items of a key", func(ctx context.Context) error {
		_, _, err := g.KeyItems(ctx, "queue", last.DedupeKey, nil, 0, 50)
		return err
	})
	g.ask(b, "queue: item with its moves", func(ctx context.Context) error {
		_, moves, err := g.ItemTrace(ctx, "queue", last.ID)
		if err == nil && len(moves) != 3 {
			return fmt.Errorf("%d moves were found", len(moves))
		}
		return err
	})
}

// askInbox runs the reads of the inbox's rebuild. A poll reads Redis only.
func (g *growth) askInbox(b *testing.B) {
	b.Helper()
	lane := ledger.Lane{Sink: "inbox", Warehouse: "WH03"}
	g.ask(b, "inbox: lanes with deliveries", func(ctx context.Context) error { _, err := g.PendingLanes(ctx, "inbox"); return err })
	g.ask(b, "inbox: highest scores", func(ctx context.Context) error { _, err := g.HighestScores(ctx, "inbox"); return err })
	g.ask(b, "inbox: first page to write back", func(ctx context.Context) error { _, err := g.Delivered(ctx, lane, 0, 500); return err })
	g.ask(b, "inbox: last page to write back", func(ctx context.Context) error {
		_, err := g.Delivered(ctx, lane, int64(g.notices-min(grownPending, g.notices/10)-10_000), 500)
		return err
	})
	g.ask(b, "inbox: origins of 20 deliveries", func(ctx context.Context) error {
		seqs := make([]int64, 20)
		for i := range seqs {
			seqs[i] = int64(g.notices/2 + i)
		}
		_, err := g.Origins(ctx, seqs)
		return err
	})
}

// measuredCommit commits ten notices of the next scope and returns the times of claim and commit.
func (g *growth) measuredCommit(ctx context.Context) (claim, commit time.Duration, err error) {
	g.commit++
	scope := g.commit % grownScopes
	due := g.now.Add(time.Duration(g.commit) * time.Millisecond)
	began := time.Now()
	c, err := g.Claim(ctx, grownRule(scope), grownWarehouse(scope), 0, due, "a", time.Minute)
	if err != nil {
		return 0, 0, err
	}
	claim = time.Since(began)
	run := &ledger.Commit{
		Run:   ledger.Run{Rule: c.Rule, Scope: c.Scope, Due: c.Due, Node: "a", Started: c.Due, Duration: 20 * time.Millisecond, Outcome: ledger.OutcomeOK, Rows: 2000, Notices: grownBatch},
		Scope: finding.Scope{LastDue: c.Due, LastOKDue: c.Due},
	}
	for i := range grownBatch {
		n, _ := g.notice((g.commit-1)%g.commits()*grownBatch + i)
		n.Rule, n.Scope, n.Warehouse, n.Episode = c.Rule, c.Scope, c.Scope, notice.EpisodeAt(0, due)
		n.ID = notice.ID(n.Rule, n.Scope, n.Key, n.Episode, n.Status, 0)
		n.CreatedAt, n.ExpiresAt = due, due.Add(24*time.Hour)
		run.Notices = append(run.Notices, ledger.NewNotice{Notice: n, Sinks: []ledger.Target{{Sink: "inbox", Inbox: true}}})
	}
	began = time.Now()
	done, err := g.Commit(ctx, c, run)
	if err == nil && done.Deliveries != grownBatch {
		err = fmt.Errorf("%d deliveries were made", done.Deliveries)
	}
	return claim, time.Since(began), err
}

// commitAndDeliver commits ten notices at a time, and reads and marks pending deliveries of a lane, 100 at a time.
func (g *growth) commitAndDeliver(b *testing.B) {
	b.Helper()
	var claims, commits, reads, marks []time.Duration
	score := int64(10 * g.notices)
	for n := range growthRounds {
		for range grownBatch {
			claim, commit, err := g.measuredCommit(b.Context())
			check(b, err)
			claims, commits = append(claims, claim), append(commits, commit)
		}
		began := time.Now()
		list, err := g.Pending(b.Context(), ledger.Lane{Sink: "inbox", Warehouse: grownWarehouse(n)}, 100)
		check(b, err)
		reads = append(reads, time.Since(began))
		receipts := make([]delivery.Receipt, len(list))
		for i := range list {
			score++
			receipts[i] = delivery.Receipt{Seq: list[i].Seq, Score: score, Epoch: "e1"}
		}
		began = time.Now()
		check(b, g.MarkSent(b.Context(), "", receipts, delivery.Attempt{}))
		marks = append(marks, time.Since(began))
	}
	g.report("claim", claims)
	g.report("commit of 10 notices", commits)
	g.report("deliver: read 100 of a lane", reads)
	g.report("deliver: mark 100 as sent", marks)
}

// prune prunes day by day, while another goroutine commits without a pause.
func (g *growth) prune(b *testing.B) {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	var commits []time.Duration
	failed := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			_, took, err := g.measuredCommit(context.WithoutCancel(ctx)) // lets the last commit finish
			if err != nil {
				failed <- err
				return
			}
			commits = append(commits, took)
		}
		failed <- nil
	}()
	var drops, wholes []time.Duration
	for day := range notice.Day(growthPrunes) {
		before := (g.first + day + 1 + keptBeyond).Begin()
		began := time.Now()
		check(b, engine{g.Ledger}.DropDays(b.Context(), before))
		drops = append(drops, time.Since(began))
		_, err := g.Prune(b.Context(), before, grownRuns)
		check(b, err)
		wholes = append(wholes, time.Since(began))
	}
	stop()
	check(b, <-failed)
	g.report("prune: the partitions of a day", drops)
	g.report("prune: a day, with items", wholes)
	g.report("prune: commit of 10 notices beside it", commits)
}

// printGrowth prints a line for each query: p50 and p99 of each ledger, and the ratio of the last to the first.
func printGrowth(all []*growth) {
	if len(all) == 0 {
		return
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', tabwriter.AlignRight|tabwriter.Debug)
	line := func(name string, cell func(g *growth) string, ratio string) {
		fmt.Fprintf(w, "\n| %s\t", name)
		for _, g := range all {
			fmt.Fprintf(w, " %s\t", cell(g))
		}
		fmt.Fprintf(w, " %s\t", ratio)
	}
	first, last := all[0], all[len(all)-1]
	fmt.Fprintln(w)
	line("ms: p50 / p99", func(g *growth) string { return fmt.Sprint(g.notices) }, "ratio")
	line("---", func(*growth) string { return "---:" }, "---:")
	for i := range first.measured {
		ratio := func(of func(m measured) time.Duration) float64 {
			return of(last.measured[i]).Seconds() / of(first.measured[i]).Seconds()
		}
		line(first.measured[i].name, func(g *growth) string {
			return fmt.Sprintf("%.2f / %.2f", 1000*g.measured[i].p50.Seconds(), 1000*g.measured[i].p99.Seconds())
		}, fmt.Sprintf("%.2f / %.2f", ratio(func(m measured) time.Duration { return m.p50 }), ratio(func(m measured) time.Duration { return m.p99 })))
	}
	line("bytes per notice", func(g *growth) string { return fmt.Sprint(g.bytes / int64(g.notices)) }, "")
	line("filling, s", func(g *growth) string { return fmt.Sprintf("%.0f", g.took.Seconds()) }, "")
	fmt.Fprintln(w)
	_ = w.Flush()
}
