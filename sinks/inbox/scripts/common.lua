-- The shared part of the scripts that follow. It only defines functions.

-- number reads a score. Redis may write it as 2e+15, which tonumber cannot read on every server. Arithmetic can.
local function number(score) return score + 0 end

local function text(score) return string.format('%.0f', score) end

-- time returns the time in µs: the given one in tests, or the server's clock if 0 was given.
local function time(given)
  local now = tonumber(given)
  if now ~= 0 then return now end
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000000 + tonumber(t[2])
end

-- The field last of a warehouse's clock is the origin of the newest delivery: "<seq> <created, µs> <expires, µs> <id>".
-- A ledger that was restored from a backup does not have that delivery (see lineage.go). newest returns the later of
-- two origins. One of them may be missing.
local function newest(known, given)
  if not known or known == '' then return given end
  if given == '' or tonumber(string.match(given, '^%d+')) < tonumber(string.match(known, '^%d+')) then return known end
  return given
end

-- The field open of a warehouse's clock names a wide delivery that has not ended (see open.lua). It is "score id", or
-- "score id undo" once another call has begun to undo the delivery. openError refuses a call until the delivery is
-- ended or undone.
local function openError(open) return redis.error_reply('OPEN ' .. open) end

-- hasRoom tells whether "many" scores fit between a clock and the score of the open wide delivery.
local function hasRoom(open, clock, many)
  if not open then return true end
  return clock + many < tonumber(string.match(open, '^%d+'))
end

-- following returns the score after a clock. While a wide delivery is open, scores increase by 1 only, to stay below
-- its score.
local function following(open, clock, now)
  if open then return clock + 1 end
  return math.max(clock + 1, now)
end
