-- Begins an epoch in a line, and removes everything of the older epoch.
--
-- KEYS 1-10 all keys of a line, in the order of keys.all (meta first); then the keys of older layouts
-- ARGV 1 epoch, <number>-<random>
--      2 layout of the keys
-- Result: 1. An epoch that has begun already stays as it is.
-- Error:  EPOCH <what was found> if Redis is at a newer epoch, or at another epoch with the same number.

local function number(epoch) return tonumber(string.match(epoch, '^%d+')) or 0 end

local found = redis.call('HGET', KEYS[1], 'epoch')
if found == ARGV[1] then return 1 end
if found and number(found) >= number(ARGV[1]) then
  return redis.error_reply('EPOCH ' .. found)
end
local base = string.sub(KEYS[1], 1, -5)
for _, warehouse in ipairs(redis.call('ZRANGE', KEYS[5], 0, -1)) do
  local gone = {}
  for _, kind in ipairs({ 'assigned', 'leased', 'delayed', 'suspended', 'stored', 'dead', 'recent' }) do
    gone[#gone + 1] = base .. kind .. ':' .. warehouse
  end
  for level = 1, 5 do
    gone[#gone + 1] = base .. 'ready:' .. level .. ':' .. warehouse
    gone[#gone + 1] = base .. 'ready:' .. level .. ':' .. warehouse .. '/o'
    gone[#gone + 1] = base .. 'since:' .. level .. ':' .. warehouse
    gone[#gone + 1] = base .. 'runs:' .. level .. ':' .. warehouse -- of layout 3
  end
  redis.call('UNLINK', unpack(gone))
end
redis.call('UNLINK', unpack(KEYS))
for level = 1, 5 do redis.call('UNLINK', base .. 'heads:' .. level) end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'layout', ARGV[2], 'due', '0', 'out', '0', 'drained', '0')
return 1
