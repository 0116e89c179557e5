-- Records watermarks: how far a user has read inboxes. Idempotent. A watermark only rises. read.lua comes before this
-- text.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps, open (see open.lua)
--      2 readers   zset    user that has marks → when the marks are looked through, µs
--      3 upto      zset    of the user: see read.lua
-- ARGV 1 the epoch that the caller assumes
--      2 now, µs; 0 = the server's TIME
--      3 after how many µs the marks of a new reader are looked through
--      4 channel for the hint, 5 its message; a line with the old and the new clock is added to it. No hint if the
--        channel is empty
--      6 the user
--      7 how many entries of upto to keep at most; the last entry of an inbox stays even above this number
--      8 how many inboxes keep their last entry in any case: the inboxes with the newest last entries
--      then for each (inbox, score, when). when is 0 for a watermark that is set now: it moves the clock, and is at
--        most the clock. Else the watermark is written back, and when is µs: the clock rises to its score, so that no
--        later notice gets a score below the watermark
-- Result: how many watermarks rose.
-- Error:  EPOCH <what was found, or none>; OPEN <the open wide delivery> if there is no free score below it. Nothing
--         was changed.

local head = redis.call('HMGET', KEYS[1], 'epoch', 'clock', 'open')
if head[1] ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (head[1] or 'none'))
end
local now = time(ARGV[2])
local before = number(head[2])
for i = 9, #ARGV, 3 do
  if ARGV[i + 2] ~= '0' then before = math.max(before, tonumber(ARGV[i + 1])) end
end
if not hasRoom(head[3], before, 1) then return openError(head[3]) end
if before > number(head[2]) then redis.call('HSET', KEYS[1], 'clock', text(before)) end
local clock, rose, moved = following(head[3], before, now), 0, false

local names = {}
for i = 9, #ARGV, 3 do names[#names + 1] = ARGV[i] end
local state = readState(KEYS[3], KEYS[3], names, {})
for i = 1, #names do
  local score, when = math.min(tonumber(ARGV[7 + 3 * i]), before), tonumber(ARGV[8 + 3 * i])
  local last = state.upto[i][#state.upto[i]]
  if score > 0 and (not last or score > last.score) then
    rose = rose + 1
    local at = math.min(when, before)
    if when == 0 then at, moved = clock, true end
    redis.call('ZADD', KEYS[3], text(at), text(score) .. ' ' .. names[i])
  end
end
if rose == 0 then return 0 end
redis.call('ZADD', KEYS[2], 'NX', text(now + tonumber(ARGV[3])), ARGV[6])

-- Forget the oldest entries: those that later entries of their inboxes have passed, and the last ones of inboxes beyond
-- the limit.
local over = redis.call('ZCARD', KEYS[3]) - tonumber(ARGV[7])
if over > 0 then
  local list = redis.call('ZRANGE', KEYS[3], 0, -1, 'WITHSCORES')
  local after, following, kept = {}, {}, 0
  for j = #list - 1, 1, -2 do
    local inbox = string.match(list[j], '^%d+ (.+)$')
    if inbox then
      if not following[inbox] then kept = kept + 1 end
      after[j] = following[inbox] or (kept > tonumber(ARGV[8]) and clock) or nil
      following[inbox] = number(list[j + 1])
    end
  end
  local forgotten = 0
  for j = 1, #list, 2 do
    if over > 0 and after[j] then
      redis.call('ZREM', KEYS[3], list[j])
      forgotten = math.max(forgotten, after[j])
      over = over - 1
    end
  end
  if forgotten > 0 then redis.call('ZADD', KEYS[3], text(forgotten), '-') end
end
if moved then
  redis.call('HSET', KEYS[1], 'clock', text(clock))
  if ARGV[4] ~= '' then redis.call('PUBLISH', ARGV[4], ARGV[5] .. '\n' .. text(before) .. '-' .. text(clock)) end
end
return rose
