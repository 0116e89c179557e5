// Package scannertest is the suite that every scanner passes.
package scannertest
