-- The address book.

-- name: put-subscriber
-- Arguments: the columns of subscribers.
INSERT INTO subscribers (subscriber, name, language, mail, phone, alias, tags, channels, reach)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (subscriber) DO UPDATE
SET name = excluded.name, language = excluded.language, mail = excluded.mail, phone = excluded.phone, alias = excluded.alias,
    tags = excluded.tags, channels = excluded.channels, reach = excluded.reach;

-- name: delete-subscriber
-- Arguments: ?1 subscriber.
-- Result: the number of rows.
DELETE FROM subscribers WHERE subscriber = ?1;

-- name: subscribers
-- Arguments: ?1 subscribers (JSON).
-- Result: the existing entries.
SELECT subscriber, name, language, mail, phone, alias, tags, channels FROM subscribers WHERE subscriber IN (SELECT value FROM json_each(?1));

-- name: list-subscribers
-- Arguments: ?1 where to start after, ?2 limit.
-- Result: entries in the order of subscribers.
SELECT subscriber, name, language, mail, phone, alias, tags, channels FROM subscribers WHERE subscriber > ?1 ORDER BY subscriber LIMIT ?2;
