-- Begins an epoch in one warehouse: removes bodies and expiries, and starts the clock above every recorded score. The
-- inboxes and marks must be removed before (wipe.lua). While some are left, the script returns their names, and the
-- warehouse is claimed for the epoch. A claimed warehouse is in no epoch, so every other script except wipe.lua refuses
-- it.
--
-- KEYS 1 clock     hash    epoch, or, while the warehouse is claimed, <epoch>:begins; clock, sweeps, open
--      2 notices   hash    id → body
--      3 expiry    zset    block of ids → when they expire, µs
--      4 inboxes   zset    subscriber → the highest score that the cap removed from its inbox
--      5 popups    zset    ids of modal notices → score
--      6 readers   zset    user that has marks → when the marks are looked through, µs
--      7 wide      zset    id of a wide notice → how many inboxes hold it
-- ARGV 1 epoch, <number>-<random>
--      2 now, µs; 0 = the server's TIME
--      3 the highest score that the ledger has recorded, 0 = none
--      4 how many names of each kind to return at most
-- Result: the number of inboxes to wipe, the number of users to wipe, then the subscribers of the inboxes, the users,
--         and the ids of wide notices. Empty = the epoch has begun, now or before.
-- Error:  EPOCH <what was found> if Redis is at a newer epoch, or at another epoch with the same number.

local function ordinal(epoch) return tonumber(string.match(epoch, '^%d+')) or 0 end

-- enter sets the epoch of the clock, or its claim.
local function enter(epoch, clock)
  redis.call('UNLINK', KEYS[1])
  redis.call('HSET', KEYS[1], 'epoch', epoch, 'clock', text(clock), 'sweeps', '0')
end

local found, claim = redis.call('HGET', KEYS[1], 'epoch'), ARGV[1] .. ':begins'
if found == ARGV[1] then return {} end
if found and found ~= claim and ordinal(found) >= ordinal(ARGV[1]) then
  return redis.error_reply('EPOCH ' .. found)
end
local reply = {'0', '0'}
for i, key in ipairs({KEYS[4], KEYS[6], KEYS[7]}) do
  local left = redis.call('ZRANGE', key, 0, tonumber(ARGV[4]) - 1)
  for _, name in ipairs(left) do reply[#reply + 1] = name end
  if i < 3 then reply[i] = tostring(#left) end
end

if #reply > 2 then
  enter(claim, 0)
  return reply
end
redis.call('UNLINK', KEYS[2], KEYS[3], KEYS[5])
enter(ARGV[1], math.max(time(ARGV[2]), tonumber(ARGV[3])))
return {}
