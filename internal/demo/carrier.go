package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// carrierName is the sink that tells the carriers' system.
const carrierName = "carrier"

// When the carriers' system does not answer, in minutes of each hour of the warehouse's time.
const (
	outageFrom  = 20
	outageUntil = 32
)

// carrier stands for the carriers' own system, which takes what a webhook brings. It is down for some minutes of each hour, and does
// not know every order: so the demo has deliveries that are tried again, that come too late and that are refused.
type carrier struct {
	listener net.Listener
	server   *http.Server
	clock    *Clock
}

// openCarrier starts it on a free port of this machine.
func openCarrier(ctx context.Context, clock *Clock) (*carrier, error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open the carriers' system: %w", err)
	}
	c := &carrier{listener: listener, clock: clock}
	c.server = &http.Server{Handler: http.HandlerFunc(c.take), ReadHeaderTimeout: 5 * time.Second}
	return c, nil
}

func (c *carrier) url() string { return "http://" + c.listener.Addr().String() + "/late-orders" }

// run answers until ctx ends.
func (c *carrier) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = c.server.Close() })
	defer stop()
	if err := c.server.Serve(c.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the carriers' system: %w", err)
	}
	return nil
}

// close frees the port where run never began.
func (c *carrier) close() { _ = c.listener.Close() }

func (c *carrier) take(w http.ResponseWriter, r *http.Request) {
	var late struct {
		Data struct {
			Order string `json:"order"`
		} `json:"data"`
	}
	minute := c.clock.Now().Minute()
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&late)
	switch {
	case minute >= outageFrom && minute < outageUntil:
		http.Error(w, "the night batch runs", http.StatusServiceUnavailable)
	case err != nil:
		http.Error(w, "no JSON", http.StatusBadRequest)
	case strings.HasSuffix(late.Data.Order, "7"):
		http.Error(w, "no such order: "+late.Data.Order, http.StatusUnprocessableEntity)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}
