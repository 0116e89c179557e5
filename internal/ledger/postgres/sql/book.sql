-- The address book.

-- name: put-subscriber
-- Arguments: $1 subscriber, $2 name, $3 language, $4 mail.
INSERT INTO subscribers (subscriber, name, language, mail) VALUES ($1, $2, $3, $4)
ON CONFLICT (subscriber) DO UPDATE SET name = excluded.name, language = excluded.language, mail = excluded.mail;

-- name: delete-subscriber
-- Arguments: $1 subscriber. Result: the number of rows.
DELETE FROM subscribers WHERE subscriber = $1;

-- name: subscribers
-- Arguments: $1 those that are wanted. Result: the entries of those that have one.
SELECT subscriber, name, language, mail FROM subscribers WHERE subscriber = ANY($1::text[]);

-- name: list-subscribers
-- Arguments: $1 where to start after, $2 limit. Result: entries in the order of subscribers.
SELECT subscriber, name, language, mail FROM subscribers WHERE subscriber > $1 ORDER BY subscriber LIMIT $2;
