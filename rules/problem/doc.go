// Package problem holds what is wrong with a file that a person wrote, and where.
package problem
