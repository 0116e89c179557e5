package app

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
)

// startEmbeddedRedis runs Redis in this process (redis.url: embedded), on a free port of the loopback address, for trying
// Tallyman out. It keeps nothing: after a restart the inboxes are written back from the ledger.
func startEmbeddedRedis() (*miniredis.Miniredis, error) {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	server.ClockTTL(true) // keys expire as the clock moves, as in Redis
	return server, nil
}
