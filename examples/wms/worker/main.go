package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	// A second signal is ignored, because some supervisors send two at once. The stop takes a bounded time anyway.
	ctx, forget := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	forget()
	if err != nil {
		if !errors.Is(err, errUsage) {
			fmt.Fprintln(os.Stderr, "worker:", err)
		}
		os.Exit(1)
	}
}

var errUsage = errors.New("wrong usage")

func run(ctx context.Context, args []string, out, errs io.Writer) error {
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	flags.SetOutput(errs)
	server := flags.String("server", "http://127.0.0.1:8080", "where Tallyman listens")
	queueName := flags.String("queue", "replenishment", "the queue to take work from")
	name := flags.String("name", defaultName(), "name of this worker; each running worker needs its own name")
	batch := flags.Int("batch", 3, "items to take at a time")
	lease := flags.Duration("lease", 30*time.Second, "how long a lease lasts")
	takes := flags.Duration("takes", 2*time.Second, "how long one refill takes")
	missing := flags.String("missing", "", "articles of which there is no reserve, as S003,S007")
	closed := flags.String("closed", "", "aisles that nobody may enter today, as A,C")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		if err == nil {
			fmt.Fprintln(errs, "worker takes flags alone; see -help")
		}
		return errUsage
	}
	w := &worker{
		queue: &client{http: &http.Client{}, server: strings.TrimSuffix(*server, "/"), queue: *queueName, name: *name},
		floor: floor{missing: list(*missing), closed: list(*closed), takes: *takes},
		batch: *batch, lease: *lease, out: out,
	}
	w.say("waits for work in %s at %s", *queueName, *server)
	return w.run(ctx)
}

// defaultName returns a name that no other worker of this machine has.
func defaultName() string { return fmt.Sprintf("forklift-%d", os.Getpid()) }

func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}
