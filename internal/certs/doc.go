// Package certs reads certificates from files that are renewed while they are in use: what is new counts from the next
// connection on, and while the files are no good, as in the middle of being replaced, what they last held stays.
package certs
