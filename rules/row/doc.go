// Package row has the columns that a probe returns, and the values of one row. Probes and conditions exchange these
// types.
//
// Scanners fill a Row. Conditions, keys and notices read it. A Value has one of eleven kinds. Decimals are exact, and
// Compare and Equal work across the numeric kinds. CanonicalKey takes a key that a user has typed, and writes its texts
// as the engine writes them.
//
// A scan reuses one Row for all its rows, and the texts point into the driver's buffer. So a row that matches nothing
// costs no allocation. A caller that keeps a value must Clone it.
package row
