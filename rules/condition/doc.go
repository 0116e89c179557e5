// Package condition compiles the expr expressions of rules into programs that run over rows.
//
// The language is the language of the library expr. The parser of expr reads the source, and some functions are expr's
// own. The evaluator is ours, because expr's virtual machine boxes every value and knows neither the NULL of SQL nor
// decimals:
//
//   - Logic has three values as in SQL: true, false and NULL. A comparison, a calculation or a function with NULL is
//     NULL. `and` is false if one side is false; `or` is true if one side is true; otherwise both are NULL if one side
//     is NULL. A condition that is NULL does not match. `a ?? b` takes b for a NULL a. `a == nil` and `a != nil` test
//     for NULL. `a ? b : c` takes c for a NULL a.
//   - Decimals and ints compare and calculate exactly; `/` between decimals rounds to 34 digits, half to even. An int
//     divided by an int is a float, as in expr. A calculation of a decimal with a float is a float; a comparison of a
//     decimal with a float is exact. A number written with a point is an exact decimal where the other side is a
//     decimal, and a float elsewhere.
//   - NaN equals NaN and is greater than any number, as in PostgreSQL.
//   - An overflow, a division by zero or a text that is no number is an error of the row.
//   - Texts count in characters, never in bytes.
//
// Every program ends soon and needs little memory, whatever its author wrote. Limits bound the bytes that an evaluation
// may build and read, and the steps that its predicates may take (see bounds).
package condition
