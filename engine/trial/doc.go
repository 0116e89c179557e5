// Package trial shows an author what a rule would do before the rule goes live.
//
// A Trial runs a rule on a source, starting from what a ledger knows or from nothing. It uses package judge, as a live
// run does, so that a trial and a live run cannot differ. A Trial keeps in memory what a firing would commit. It writes
// nothing and delivers nothing.
//
// Package preview reports one run. Package ruletest runs a rule through the steps of a test file. Package rulediff runs
// two versions of a rule. Package rewind counts what a move of a watermark would cause.
package trial
