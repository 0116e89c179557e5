package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedisOptions(t *testing.T) {
	t.Parallel()
	type options struct {
		Addrs                []string
		User, Password       string
		DB                   int
		TLS, Cluster         bool
		Master, SentinelPass string
	}
	for name, c := range map[string]struct {
		text string
		want options
	}{
		"single":    {`redis: {url: "rediss://u:p@a:6380/3"}`, options{Addrs: []string{"a:6380"}, User: "u", Password: "p", DB: 3, TLS: true}},
		"cluster":   {`redis: {url: ["redis://a:1", "redis://b:2"]}`, options{Addrs: []string{"a:1", "b:2"}, Cluster: true}},
		"of one":    {`redis: {url: ["redis://a:1"]}`, options{Addrs: []string{"a:1"}, Cluster: true}},
		"sentinels": {`redis: {url: ["redis://:p@a:1/2?master_name=m&sentinel_password=s", "redis://b:2"]}`, options{Addrs: []string{"a:1", "b:2"}, Password: "p", DB: 2, Master: "m", SentinelPass: "s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := load(t, c.text).Redis.Options()
			if err != nil {
				t.Fatal(err)
			}
			got := options{o.Addrs, o.Username, o.Password, o.DB, o.TLSConfig != nil, o.IsClusterMode, o.MasterName, o.SentinelPassword}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
