// Package certs reads certificates from files that are replaced while the process runs. A new certificate is used from
// the next connection on. While the files are invalid, for example half written, the last valid content stays in use.
//
// Files does this for any set of files and any parser. Pair is a server's certificate and key for the API's TLS. A
// callback gets each renewal once, and each fault once. The package creates no certificates, and decides nothing about
// trust.
package certs
