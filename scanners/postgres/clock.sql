-- The server's time in µs of Unix time, the time zone in which a session of this user begins, and the zone's offset to
-- UTC in seconds.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, reset_val,
       extract(epoch FROM (now() AT TIME ZONE reset_val) - (now() AT TIME ZONE 'UTC'))::int
FROM pg_settings WHERE name = 'TimeZone'
