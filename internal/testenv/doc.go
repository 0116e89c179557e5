// Package testenv gives tests the real servers that Tallyman talks to: redis-server (alone, as a Cluster, behind a
// Sentinel), PostgreSQL (alone, with a standby, behind PgBouncer) and MariaDB, each on a free port with its files in a
// temporary folder, and the in-process Redis of the embedded mode. HTTPServer is a web server that answers as a test
// tells it, SMTPServer one for mail, Toxic a bad network in front of any of them. CheckScripts and ScriptCost are for
// scripts in Redis.
//
// TALLYMAN_TEST_POSTGRES names the folder of the binaries of another version of PostgreSQL than the newest that is
// installed.
//
// A server that is not installed fails the test and says what to install; no test is skipped for it.
// Servers end with the test (Redis, PostgresServer) or with the test process (those behind Postgres, MariaDB,
// SharedCluster and SharedSentinel, stopped by Main), and on Linux also when the test process is killed.
//
// Slow marks tests that make quick leaves out. It holds no fixtures of the product: those stand beside the packages
// that they are for.
package testenv
