-- The shared part of scripts that put notices into inboxes. It only defines functions. common.lua comes before this
-- text.

-- How many scores of removed notices are kept for each inbox. They tell readers how many notices they have missed.
local REMEMBERED = 1000

-- How many more notices one call may remove than it adds. More notices are above the cap only after the cap was
-- lowered; later calls remove the rest.
local SURPLUS = 1000

-- newCut returns the state for cut: the names of the keys inboxes and wide, the cap of an inbox, and how many notices
-- this call may remove.
local function newCut(inboxes, wide, cap, most)
  return {inboxes = inboxes, wide = wide, cap = cap, left = most, gone = {}}
end

-- cut removes the oldest notices of an inbox beyond the cap. It writes their scores to the log of the inbox.
local function cut(c, key, log, subscriber)
  local over = math.min(redis.call('ZCARD', key) - c.cap, c.left)
  if over <= 0 then return end
  c.left = c.left - over
  local list = redis.call('ZRANGE', key, 0, over - 1, 'WITHSCORES')
  redis.call('ZREMRANGEBYRANK', key, 0, over - 1)
  local scores = {}
  for g = 1, #list, 2 do
    c.gone[#c.gone + 1] = list[g]
    if g > #list - 2 * REMEMBERED then scores[#scores + 1] = text(number(list[g + 1])) end
  end
  redis.call('RPUSH', log, unpack(scores))
  redis.call('LTRIM', log, -REMEMBERED, -1)
  local highest = number(list[#list])
  if highest > number(redis.call('ZSCORE', c.inboxes, subscriber)) then
    redis.call('ZADD', c.inboxes, text(highest), subscriber)
  end
end

-- homeless returns the ids of removed notices that may be in no inbox any more. For wide notices, Redis counts the
-- inboxes that hold them.
local function homeless(c)
  local out = {}
  for first = 1, #c.gone, REMEMBERED do
    local last = math.min(first + REMEMBERED - 1, #c.gone)
    local counts = redis.call('ZMSCORE', c.wide, unpack(c.gone, first, last))
    for i = first, last do
      local id = c.gone[i]
      if not counts[i - first + 1] or number(redis.call('ZINCRBY', c.wide, -1, id)) <= 0 then out[#out + 1] = id end
    end
  end
  return out
end
