// Package scaffold has what a new site begins with: the texts of its files (Files), a sample warehouse (MakeSample),
// and the SQL of its database roles (SQL). The texts lie in the folders files and sql.
//
// The package asks nobody and opens no part of Tallyman: internal/cli asks, and internal/authoring makes the first rule.
package scaffold
