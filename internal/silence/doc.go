// Package silence says what is not told for a while: which silences there are, what they are about, and when they
// are active. No I/O, and no clock but the one that the caller brings.
package silence
