// Package chat is the push channel that posts notices to chats: Slack, Teams, Telegram, DingTalk and others. Each chat
// has an address in the URL form of the library shoutrrr.
//
// The library only parses the URLs. This package makes the messages and the calls, so that
//
//   - a call ends with its context,
//   - a call goes only to the public internet (unless allow_private is true), and follows no redirect,
//   - an answer separates faults of a notice from faults of the chat.
//
// No text of a notice can mention a whole group, or hide the address of a link behind other words. In Telegram, @name
// in a text mentions that user. Services with Markdown may show its signs as bold or italic. Most chats make a link of
// a bare address. The address book can give the address of a chat, and the people whom a message mentions.
//
// A message never exceeds the limits of its service. The text is cut so that the message fits as it is sent, with its
// title, its mentions and its escapes.
package chat
