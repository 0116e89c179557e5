// Package mail is the push channel that sends notices by mail. Each subscriber gets one mail for each notice, at the
// addresses that the address book has for the subscriber.
//
// The Message-ID is made of the notice's id and the subscriber. A mail that is sent again after a lost answer therefore
// has the same Message-ID, so that mail systems and readers can recognize the repeat. A subscriber, such as a role, may
// have several addresses. If the server refuses an address for good, the mail goes to the others, and the log names the
// refused one. If the server puts an address off, the next attempt goes to that address alone.
package mail
