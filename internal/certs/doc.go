// Package certs reads certificates from files that are renewed while they are in use: what is new counts from the next
// connection on, and while the files are no good, as in the middle of being replaced, what they last held stays.
//
// Files does so with any set of files and any parser; Pair is a server's certificate with its key, and what the API's TLS takes. Whoever wants to
// know of renewals and faults gets them told once each. The package makes no certificates, and decides nothing about trust.
package certs
