package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // rules have time zones, and not every machine has the database of zones

	"tallyman/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(cli.Run(ctx, cli.Process{
		Args: os.Args[1:], Env: os.Environ(), In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Hangup: hangup,
	}, cli.Default()))
}

// hangup returns a channel that receives SIGHUP. On this signal a server reads its rule files again.
func hangup() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c
}
