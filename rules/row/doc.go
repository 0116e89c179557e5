// Package row is the language between a probe and a condition: the columns that a probe returns, and the values of one row.
//
// Scanners fill a Row; conditions, keys and notices read it. A Value is one of eleven kinds; decimals are exact, and Compare and Equal work across
// the numeric kinds. CanonicalKey gives the one text form of a key.
//
// A Row is reused for every row of a scan, and its texts point into the driver's buffer, so a row that matches nothing costs no allocation. Who keeps
// a value calls Clone.
package row
