// Package chat is the push channel that posts notices to chats: Slack, Teams, Telegram, DingTalk and others, each addressed by
// a URL as shoutrrr has it.
//
// shoutrrr reads the URLs; the messages and the calls are ours, so that a call ends with its context, goes nowhere but to the
// public internet, follows no redirect, and its answer tells what is wrong with a notice from what is wrong with the chat. What a text
// holds is shown as it is: nothing in a notice can mention people, or begin a link. The address of a chat and whom a message mentions may come from the
// address book.
package chat
