// Package catalog is the type catalogue: what kinds of notices a site knows and which typed fields each carries.
package catalog
