-- Records single notices that users have read and acked. Idempotent: existing marks stay as they are.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps, open (see open.lua)
--      2 readers   zset    user that has marks → when the marks are looked through, µs
--      3 … 2+u     zset    the marks of each user: see read.lua
-- ARGV 1 the epoch that the caller assumes
--      2 now, µs; 0 = the server's TIME
--      3 after how many µs the marks of a new reader are looked through
--      4 channel for the hint, 5 its message; a line with the old and the new clock is added to it. No hint if the
--        channel is empty
--      then for each user: its name, m, m × (r = read or a = acked, id, when). when is µs, or 0 for a mark that is made
--        now. Such a mark moves the clock, so that other windows see it. An acked notice is read, too
-- Result: how many marks were new.
-- Error:  EPOCH <what was found, or none>; OPEN <the open wide delivery> if there are too few free scores below it.
--         Nothing was changed.

local head = redis.call('HMGET', KEYS[1], 'epoch', 'clock', 'open')
if head[1] ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (head[1] or 'none'))
end
local now = time(ARGV[2])
local before, open = number(head[2]), head[3]
if not hasRoom(open, before, #ARGV) then return openError(open) end
local clock, moved, fresh = before, false, 0

local at = 6
for u = 1, #KEYS - 2 do
  local marks, m = KEYS[2 + u], tonumber(ARGV[at + 1])
  redis.call('ZADD', KEYS[2], 'NX', text(now + tonumber(ARGV[3])), ARGV[at])
  at = at + 2
  for i = at, at + 3 * (m - 1), 3 do
    local kind, id, when = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
    local score = math.min(when, clock)
    if when == 0 then score = following(open, clock, now) end
    local added = redis.call('ZADD', marks, 'NX', text(score), kind .. ' ' .. id)
    if kind == 'a' then added = added + redis.call('ZADD', marks, 'NX', text(score), 'r ' .. id) end
    if added > 0 then
      fresh = fresh + 1
      if when == 0 then clock, moved = score, true end
    end
  end
  at = at + 3 * m
end
if moved then
  redis.call('HSET', KEYS[1], 'clock', text(clock))
  if ARGV[4] ~= '' then redis.call('PUBLISH', ARGV[4], ARGV[5] .. '\n' .. text(before) .. '-' .. text(clock)) end
end
return fresh
