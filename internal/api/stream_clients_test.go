package api_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// streamClients is the other process of BenchmarkStreams. It takes orders line by line: open N, report.
func streamClients(addr string) int {
	c := &benchClientsAll{addr: addr}
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		order, n, _ := strings.Cut(orders.Text(), " ")
		switch order {
		case "open":
			count, err := strconv.Atoi(n)
			if err == nil {
				err = c.open(count)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			fmt.Fprintln(os.Stdout, "open")
		case "report":
			fmt.Fprintln(os.Stdout, c.report())
		}
	}
	return 0
}

// benchClientsAll reads all streams.
type benchClientsAll struct {
	addr string

	mu    sync.Mutex
	delay []time.Duration
}

func (c *benchClientsAll) open(n int) error {
	var group errgroup.Group
	group.SetLimit(64)
	for i := range n {
		group.Go(func() error {
			conn, err := dialStream(c.addr, i)
			if err != nil {
				return err
			}
			begun := make(chan error, 1)
			go c.read(conn, begun)
			return <-begun
		})
	}
	return group.Wait()
}

// read notes how old each notice is: its title is when it was made.
func (c *benchClientsAll) read(conn net.Conn, begun chan<- error) {
	in := bufio.NewReaderSize(conn, 2048)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			begun <- fmt.Errorf("a stream ended: %w", err)
			return
		}
		if bytes.HasPrefix(line, []byte("event: unread")) {
			select {
			case begun <- nil:
			default: // it has begun before
			}
		}
		_, rest, ok := bytes.Cut(line, []byte(`"title":"T`))
		if !ok {
			continue
		}
		nanos, _, _ := bytes.Cut(rest, []byte(`"`))
		made, err := strconv.ParseInt(string(nanos), 10, 64)
		if err != nil {
			continue
		}
		age := time.Since(time.Unix(0, made))
		c.mu.Lock()
		c.delay = append(c.delay, age)
		c.mu.Unlock()
	}
}

// report is how many notices came since the last one, and the delays that a half and 99 % of them had, ms.
func (c *benchClientsAll) report() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.delay
	c.delay = nil
	if len(d) == 0 {
		return "0 0 0"
	}
	slices.Sort(d)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return fmt.Sprintf("%d %.2f %.2f", len(d), ms(d[len(d)/2]), ms(d[len(d)*99/100]))
}
