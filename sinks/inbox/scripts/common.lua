-- What the scripts that follow share; it only defines functions.

-- A score as a number. Redis may write it as 2e+15, which tonumber does not read everywhere; arithmetic does.
local function number(score) return score + 0 end

local function text(score) return string.format('%.0f', score) end

-- The time in µs: as a test gives it, or, where that is 0, by the server's clock.
local function time(given)
  local now = tonumber(given)
  if now ~= 0 then return now end
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000000 + tonumber(t[2])
end

-- The field last of a warehouse's clock is the origin of the newest delivery that the warehouse was given: "<seq> <created, µs> <expires, µs> <id>", which
-- a ledger that was restored does not have (see lineage.go). newest is the later one of two origins; one of them may be missing.
local function newest(known, given)
  if not known or known == '' then return given end
  if given == '' or tonumber(string.match(given, '^%d+')) < tonumber(string.match(known, '^%d+')) then return known end
  return given
end

-- The field open of a warehouse's clock names a wide delivery that has not ended (see open.lua): "score id", or "score id undo"
-- once somebody takes the delivery back. openError says so to callers who must have it ended, or undone, first.
local function openError(open) return redis.error_reply('OPEN ' .. open) end

-- hasRoom tells whether so many scores can be given after a clock, all below that of an open wide delivery.
local function hasRoom(open, clock, many)
  if not open then return true end
  return clock + many < tonumber(string.match(open, '^%d+'))
end

-- following is the score after a clock. While a wide delivery is open, scores follow each other closely, to stay below its own.
local function following(open, clock, now)
  if open then return clock + 1 end
  return math.max(clock + 1, now)
end
