-- Opens a wide delivery: the delivery of a notice to more inboxes than one call may touch. Calls of add.lua put the
-- notice into the inboxes, and close.lua ends the delivery. Until then the notice's score lies above the warehouse's
-- clock. Readers read up to the clock, so they do not see the notice. At most one delivery of a warehouse is open. A
-- call for another notice first undoes the open delivery (undo.lua, sweep.lua). A call for the same notice continues
-- it.
--
-- KEYS 1 clock     hash    epoch, clock, sweeps, open: the score and id of the open delivery
--      2 notices   hash    id → body
--      3 expiry    zset    block of ids → when they expire, µs
--      4 wide      zset    id of a wide notice → how many inboxes hold it
-- ARGV 1 the epoch that the caller assumes
--      2 now, µs; 0 = the server's TIME
--      3 id, 4 body without recipients, 5 expiry, µs
--      6 score; 0 = give one, else the notice is written back with this score
--      7 how many scores stay free below the given score, for marks that users make during the delivery
--      8 the clock at which the caller found that no inbox holds the notice; empty = the caller did not look
-- Result: 1 and the score; or 0 and the clock if Redis has the notice and the clock is not the clock of ARGV 8.
-- Error:  EPOCH <what was found, or none>; OPEN <the open delivery>. Nothing was changed.

local head = redis.call('HMGET', KEYS[1], 'epoch', 'clock', 'open')
if head[1] ~= ARGV[1] then
  return redis.error_reply('EPOCH ' .. (head[1] or 'none'))
end
local id = ARGV[3]
if head[3] then
  local score = string.match(head[3], '^(%d+) %S+$')
  if score and head[3] == score .. ' ' .. id then return {1, score} end
  return openError(head[3])
end
if redis.call('HEXISTS', KEYS[2], id) == 1 and ARGV[8] ~= head[2] then return {0, head[2]} end
local score = tonumber(ARGV[6])
if score == 0 then score = math.max(number(head[2]) + 1, time(ARGV[2])) + tonumber(ARGV[7]) end
redis.call('HSET', KEYS[1], 'open', text(score) .. ' ' .. id)
redis.call('HSET', KEYS[2], id, ARGV[4])
redis.call('ZADD', KEYS[3], ARGV[5], id)
redis.call('ZADD', KEYS[4], 0, id)
return {1, text(score)}
