package config

import (
	"errors"
	"net/url"

	"github.com/redis/go-redis/v9"
)

// Embedded is the redis.url that stands for the Redis inside the process.
const Embedded = "embedded"

// Redis is where the index of the inboxes lives.
type Redis struct {
	// URLs is Embedded, one server, or a list. A list is a Cluster, or where the first has ?master_name=NAME the
	// Sentinels of that primary.
	URLs   []Secret
	List   bool // it was written as a list
	Prefix string
}

// Embedded tells whether Redis runs inside the process.
func (r Redis) Embedded() bool {
	return !r.List && len(r.URLs) == 1 && r.URLs[0].Reveal() == Embedded
}

// errRedisURL names no part of the URL, which may hold a password.
var errRedisURL = errors.New("is no address of a Redis server")

// Options returns what redis.NewUniversalClient takes. User, password, database and TLS are those of the first URL.
func (r Redis) Options() (*redis.UniversalOptions, error) {
	o := &redis.UniversalOptions{IsClusterMode: r.List}
	for i, secret := range r.URLs {
		u, err := url.Parse(secret.Reveal())
		if err != nil {
			return nil, errRedisURL
		}
		q := u.Query()
		master, user, password := q.Get("master_name"), q.Get("sentinel_username"), q.Get("sentinel_password")
		for _, name := range []string{"master_name", "sentinel_username", "sentinel_password"} {
			q.Del(name)
		}
		u.RawQuery = q.Encode()
		one, err := redis.ParseURL(u.String())
		if err != nil {
			return nil, errRedisURL
		}
		o.Addrs = append(o.Addrs, one.Addr)
		if i > 0 {
			continue
		}
		o.Username, o.Password, o.DB, o.TLSConfig = one.Username, one.Password, one.DB, one.TLSConfig
		if master != "" {
			o.MasterName, o.SentinelUsername, o.SentinelPassword = master, user, password
			o.IsClusterMode = false
		}
	}
	return o, nil
}
