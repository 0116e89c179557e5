-- Begins an epoch in a line: what an older one left goes.
--
-- KEYS 1-16 all keys of a line, in the order of keys.all: meta first
-- ARGV 1 epoch, <number>-<random>
-- Result: 1; also where the epoch has begun already, which then stays as it is.
-- Error:  EPOCH <what was found> if that one is newer.

local function number(epoch) return tonumber(string.match(epoch, '^%d+')) or 0 end

local found = redis.call('HGET', KEYS[1], 'epoch')
if found == ARGV[1] then return 1 end
if found and number(found) >= number(ARGV[1]) then
  return redis.error_reply('EPOCH ' .. found)
end
redis.call('UNLINK', unpack(KEYS))
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'due', '0', 'out', '0', 'drained', '0')
return 1
