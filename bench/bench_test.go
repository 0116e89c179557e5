package bench

import (
	"fmt"
	"testing"
)

func BenchmarkTry(b *testing.B) {
	s := newServers(b)
	for _, c := range []cell{{1, 1}, {1, 10}, {1, 64}, {100, 8}} {
		for _, k := range contenders() {
			p, w, f := measure(b, s, k, c, pushing), measure(b, s, k, c, working), measure(b, s, k, c, flowing)
			fmt.Printf("%v %-14s push %8.0f work %8.0f flow %8.0f  cpu/M work redis %.1f pg %.1f client %.1f; flow %.1f %.1f %.1f\n", c, k.name, p.rate, w.rate, f.rate, w.cpu.redis, w.cpu.postgres, w.cpu.client, f.cpu.redis, f.cpu.postgres, f.cpu.client)
		}
	}
}
