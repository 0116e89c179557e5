// Package testenv starts the real servers that Tallyman needs, for tests: redis-server (alone, as a Cluster, behind a
// Sentinel), PostgreSQL (alone, with a standby, behind PgBouncer) and MariaDB. Each server has a free port and a
// temporary folder. The package also has the in-process Redis of the embedded mode, a web server whose answers a test
// sets (HTTPServer), a mail server (SMTP), and a bad network in front of any server (Toxic). CheckScripts and
// WatchScripts are for scripts in Redis.
//
// Tests use the newest PostgreSQL that is installed. TALLYMAN_TEST_POSTGRES names the folder of the binaries of another
// version.
//
// A server that is not installed fails the test and says what to install. No test is skipped for it.
// Servers end with the test (Redis, PostgresServer) or with the test process (the servers behind Postgres, MariaDB,
// SharedCluster and SharedSentinel, which Main stops). On Linux they also end when the test process is killed.
//
// Slow marks tests that make quick leaves out. The package has no fixtures of the product: each package has its own.
package testenv
