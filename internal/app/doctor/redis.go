package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/config"
	"tallyman/sinks/recovery"
)

const (
	leastRedis = 7
	muchMemory = 80 // Percent of maxmemory.
	fullMemory = 95
)

func checkRedis(ctx context.Context, cfg *config.Config, _ Options) []Finding {
	if cfg.Redis.Embedded() {
		return []Finding{ok(CodeRedisReach, "", "Redis runs inside the process and loses its data when the process ends; use it for one node only")}
	}
	options, err := cfg.Redis.Options()
	if err != nil {
		return []Finding{wrong(CodeRedisReach, "", err.Error(), "correct redis.url")}
	}
	client := redis.NewUniversalClient(options)
	defer func() { _ = client.Close() }()
	var list []Finding
	switch c := client.(type) {
	case *redis.ClusterClient:
		var mu sync.Mutex
		err = c.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
			found, err := askRedis(ctx, c.Options().Addr, c)
			mu.Lock()
			defer mu.Unlock()
			list = append(list, found...)
			return err
		})
	case *redis.Client:
		list, err = askRedis(ctx, "", c)
	default:
		err = fmt.Errorf("a client of the kind %T is not known", client)
	}
	if err != nil {
		return append(list, wrong(CodeRedisReach, "", err.Error(), "start Redis, or correct redis.url"))
	}
	if options.TLSConfig != nil && options.MasterName == "" {
		list = append(list, certificateAt(ctx, "redis", options.Addrs[0], options.TLSConfig)...)
	}
	return list
}

// askRedis asks one server. about is its address in a Cluster.
func askRedis(ctx context.Context, about string, c *redis.Client) ([]Finding, error) {
	text, err := c.Info(ctx).Result()
	if err != nil {
		return nil, err
	}
	info := infoOf(text)
	reach := ok(CodeRedisReach, about, "Redis %s", info["redis_version"])
	if major, _, _ := strings.Cut(info["redis_version"], "."); number(major) < leastRedis {
		reach = wrong(CodeRedisReach, about, "Redis "+info["redis_version"]+" is too old", "take Redis 7 or newer")
	}
	policy, err := redisPolicy(ctx, about, c)
	if err != nil {
		return nil, err
	}
	before := time.Now()
	server, err := c.Time(ctx).Result()
	if err != nil {
		return nil, err
	}
	return []Finding{reach, policy, redisMemory(about, info), redisPersistence(about, info), clock(CodeRedisClock, about, server, before, time.Now())}, nil
}

// infoOf reads the answer of INFO.
func infoOf(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			info[name] = value
		}
	}
	return info
}

func redisPolicy(ctx context.Context, about string, c *redis.Client) (Finding, error) {
	hidden, err := recovery.AskPolicy(ctx, c)
	switch {
	case errors.Is(err, recovery.ErrEvicts):
		return wrong(CodeRedisPolicy, about, err.Error(), "set maxmemory-policy noeviction: docs/how-to/set-up-redis.md"), nil
	case hidden:
		return warning(CodeRedisPolicy, about, "the server does not show its maxmemory-policy", "look at the settings of the service: maxmemory-policy must be noeviction"), nil
	case err != nil:
		return Finding{}, err
	}
	return ok(CodeRedisPolicy, about, "the server evicts no keys"), nil
}

func redisMemory(about string, info map[string]string) Finding {
	used, errUsed := strconv.ParseInt(info["used_memory"], 10, 64)
	most, errMost := strconv.ParseInt(info["maxmemory"], 10, 64)
	if errUsed != nil || errMost != nil {
		return warning(CodeRedisMemory, about, "the server does not report its memory use", "look at the memory of the service")
	}
	if most == 0 {
		return ok(CodeRedisMemory, about, "%d MB are used; maxmemory is not set", used/bytesPerMiB)
	}
	share := used * 100 / most
	found := fmt.Sprintf("%d of %d MB (%d %%) are used", used/bytesPerMiB, most/bytesPerMiB, share)
	const way = "raise maxmemory: docs/runbooks/redis-full.md"
	switch {
	case share >= fullMemory:
		return wrong(CodeRedisMemory, about, found, way)
	case share >= muchMemory:
		return warning(CodeRedisMemory, about, found, way)
	}
	return ok(CodeRedisMemory, about, "%s", found)
}

// redisPersistence reports failures of snapshots and of the append-only file. Tallyman needs neither.
func redisPersistence(about string, info map[string]string) Finding {
	for name, what := range map[string]string{"rdb_last_bgsave_status": "snapshot", "aof_last_write_status": "write to the append-only file"} {
		if status := info[name]; status != "" && status != "ok" {
			return warning(CodeRedisPersistence, about, "the last "+what+" failed", "look at the server's log and disk: a server that cannot save may refuse writes")
		}
	}
	if info["aof_enabled"] == "1" {
		return ok(CodeRedisPersistence, about, "the append-only file is on")
	}
	return ok(CodeRedisPersistence, about, "the append-only file is off; Tallyman writes inboxes and queues back from the ledger")
}

// certificateAt checks when the certificate of a server ends. The server must begin each connection with TLS.
func certificateAt(ctx context.Context, about, address string, c *tls.Config) []Finding {
	conn, err := (&tls.Dialer{Config: c}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil // Another finding has the error.
	}
	defer func() { _ = conn.Close() }()
	secured, isTLS := conn.(*tls.Conn)
	if !isTLS {
		return nil
	}
	return []Finding{ends(about, firstEnd(secured.ConnectionState().PeerCertificates))}
}
