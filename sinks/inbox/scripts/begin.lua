-- Begins an epoch in one warehouse: bodies and expiries go, the clock starts above all that was recorded.
-- The inboxes and what readers have marked must have been removed before (wipe.lua); while some are left, their names are the answer.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps
--      2 notices   hash    id → body
--      3 expiry    zset    block of ids → when they expire, µs
--      4 inboxes   zset    subscriber → the highest score that the cap removed from its inbox
--      5 popups    zset    ids of modal notices → score
--      6 readers   zset    user that has marked something → when its marks are looked through, µs
-- ARGV 1 epoch, <number>-<random>
--      2 now, µs; 0 = the server's TIME
--      3 the highest score that the ledger has recorded, 0 = none
--      4 how many names to answer at most
-- Result: the number of inboxes that must be wiped first, their subscribers, then the users whose marks must be; empty = the epoch
--      has begun, or had already.
-- Error:  EPOCH <what was found, or none> if that one is newer.

local function ordinal(epoch) return tonumber(string.match(epoch, '^%d+')) or 0 end

local found = redis.call('HGET', KEYS[1], 'epoch')
if found == ARGV[1] then return {} end
if found and ordinal(found) >= ordinal(ARGV[1]) then
  return redis.error_reply('EPOCH ' .. found)
end
local left = redis.call('ZRANGE', KEYS[4], 0, tonumber(ARGV[4]) - 1)
local reply = {tostring(#left)}
for _, subscriber in ipairs(left) do reply[#reply + 1] = subscriber end
for _, user in ipairs(redis.call('ZRANGE', KEYS[6], 0, tonumber(ARGV[4]) - 1)) do reply[#reply + 1] = user end
if #reply > 1 then return reply end

local clock = math.max(time(ARGV[2]), tonumber(ARGV[3]))
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3], KEYS[5])
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'clock', string.format('%.0f', clock), 'sweeps', '0')
return {}
