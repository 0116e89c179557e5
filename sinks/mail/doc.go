// Package mail is the push channel that mails notices: one mail for each notice and subscriber, to the addresses that the
// subscriber has in the address book.
//
// A mail is known by its Message-ID, which is made of the notice's id and the subscriber: one that is sent again after a lost
// answer has the same, so that mail systems and readers can tell a repeat. A role may have several addresses: those that the
// server refuses for good are left out and named in the log, and those that it puts off are tried again without the others.
package mail
