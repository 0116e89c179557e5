// Package scaffold has the contents of a new site: the texts of its files (Files), a sample warehouse (MakeSample), and
// the SQL of its database roles (SQL). The texts lie in the folders files and sql.
//
// The package asks the user nothing and opens no part of Tallyman. internal/cli asks the questions, and
// internal/authoring makes the first rule.
package scaffold
