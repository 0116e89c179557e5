// Package row is the language between a probe and a condition: the columns that a probe
// returns and the values of one row. Scanners fill rows, conditions, keys and notices read them.
//
// A Row is reused for every row of a scan, and its texts point into the driver's buffer, so that a
// row that matches nothing costs no allocation. Whoever keeps a value calls Clone.
package row
