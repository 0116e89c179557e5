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

func TestLedgerOfSeveralHosts(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://u:p@a:5432,b:5432/tallyman?target_session_attrs=read-write",
		"postgresql://u:p@a,b/tallyman?target_session_attrs=primary&sslmode=verify-full",
		"postgres://u:p%2C1@a:5432,b/tallyman",
		"postgres://[::1]:5432,[::2]:5432,c/tallyman?connect_timeout=2",
		"postgres:///tallyman?host=a,b&port=5432,5433",
	} {
		if l := load(t, `ledger: {url: "`+address+`"}`).Ledger; l.Driver != Postgres || l.URL.Reveal() != address {
			t.Errorf("%s is a ledger in %q", address, l.Driver)
		}
	}
}
