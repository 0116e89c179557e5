-- The server's time in µs of Unix time, the time zone that a session of this user begins with, and the seconds that the zone is ahead of UTC.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, reset_val,
       extract(epoch FROM (now() AT TIME ZONE reset_val) - (now() AT TIME ZONE 'UTC'))::int
FROM pg_settings WHERE name = 'TimeZone'
