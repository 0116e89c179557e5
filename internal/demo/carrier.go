package demo

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
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
	clock *Clock
}

// openCarrier listens on this machine alone.
func openCarrier(ctx context.Context, clock *Clock) (*server, error) {
	return openServer(ctx, "the carriers' system", "127.0.0.1", carrier{clock: clock})
}

// ServeHTTP takes a notice of an order that is late.
func (c carrier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
