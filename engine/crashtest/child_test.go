package crashtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	pgledger "tallyman/internal/ledger/postgres"
	sqliteledger "tallyman/internal/ledger/sqlite"
	"tallyman/internal/session"
	"tallyman/internal/testenv"
	"tallyman/scanners"
	sqlitesource "tallyman/scanners/sqlite"
)

// childFolder, when set, makes this test binary the process that is killed: it runs an engine on the files
// in that folder until SIGTERM.
const childFolder = "TALLYMAN_CRASHTEST_FOLDER"

// The files of the folder, beside the ledger of SQLite.
const (
	sourceFile = "wms.db"
	ruleFile   = "rule"   // which of the rules is run
	urlFile    = "url"    // of the ledger
	sinkFile   = "sink"   // what the sink took, a line each
	dieFile    = "die-at" // the step in which the process kills itself
	sentFile   = "sent"   // number of deliveries recorded as sent, written when none is pending
)

func TestMain(m *testing.M) {
	folder := os.Getenv(childFolder)
	if folder == "" {
		flag.Parse()
		if err := flag.Set("test.parallel", "16"); err != nil { // the tests wait for leases, not for processors
			panic(err)
		}
		testenv.Main(m)
		return
	}
	if err := child(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // this is the main function of the child
	}
}

func child(folder string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() { // the parent is gone: so are we
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	source, err := sqlitesource.Open(sqlitesource.Config{URL: "sqlite:" + filepath.Join(folder, sourceFile)})
	if err != nil {
		return err
	}
	defer source.Close()
	l, err := openLedger(ctx, folder)
	if err != nil {
		return err
	}
	defer l.Close()
	keeper := session.New(session.Options{Ledger: l, Node: "child", Lease: time.Second, Alone: strings.HasPrefix(read(folder, urlFile), "sqlite:")})
	if err := keeper.Begin(ctx); err != nil {
		return err
	}
	e, err := engine.New(engine.Options{
		Ledger:   l,
		Session:  keeper,
		Sources:  map[string]scanners.Source{"wms": source},
		Sinks:    map[string]engine.Sink{"log": {Sink: fileSink(filepath.Join(folder, sinkFile)), Inbox: true}},
		Rules:    rulesOf(read(folder, ruleFile)),
		Complete: true,
		Node:     "child",
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Lease:    600 * time.Millisecond, ForgetAfter: 100 * time.Millisecond,
		Step: func(step string) { dieAt(folder, step) },
	})
	if err != nil {
		return err
	}
	go report(ctx, folder, l)
	keeping, leave := context.WithCancel(context.WithoutCancel(ctx))
	left := make(chan struct{})
	go func() {
		defer close(left)
		keeper.Run(keeping, e.TakeOver)
	}()
	defer func() {
		leave()
		<-left
	}()
	return e.Run(ctx)
}

// report tells the parent when nothing is pending. A crash before the mark leaves a delivery that the sink has, but
// the ledger has yet to record.
func report(ctx context.Context, folder string, l ledger.Ledger) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		count, err := l.CountDeliveries(ctx)
		if err != nil || count["log"][ledger.DeliveryPending] > 0 {
			continue
		}
		text := strconv.FormatInt(count["log"][ledger.DeliverySent], 10)
		if err := os.WriteFile(filepath.Join(folder, sentFile), []byte(text), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

// dieAt ends the process where the file says so, or so long after that ("forgetting 3ms"). SIGKILL runs nothing: no
// deferred call, no flush.
func dieAt(folder, step string) {
	at, later, _ := strings.Cut(read(folder, dieFile), " ")
	if at != step {
		return
	}
	if wait, err := time.ParseDuration(later); err == nil {
		time.AfterFunc(wait, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) })
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func read(folder, name string) string {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		panic(err)
	}
	return string(text)
}

func openLedger(ctx context.Context, folder string) (ledger.Ledger, error) {
	url := read(folder, urlFile)
	if file, ok := strings.CutPrefix(url, "sqlite:"); ok {
		return sqliteledger.Open(ctx, file, ledger.Options{})
	}
	return pgledger.Open(ctx, url, ledger.Options{})
}

// fileSink appends what it takes to a file. It takes everything that it is given, also again: the test
// does what a real sink does, and knows a notice by its id.
type fileSink string

func (f fileSink) Deliver(_ context.Context, lane string, batch []delivery.Delivery) ([]delivery.Receipt, error) {
	out, err := os.OpenFile(string(f), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	var text strings.Builder
	receipts := make([]delivery.Receipt, len(batch))
	for i, d := range batch {
		n := d.Notice
		fmt.Fprintf(&text, "%d %s %s %s %s %s\n", d.Seq, n.ID, n.Status, n.Key, lane, strings.Join(d.Recipients, ","))
		receipts[i] = delivery.Receipt{Seq: d.Seq, Score: d.Seq}
	}
	_, err = out.WriteString(text.String())
	return receipts, err
}
