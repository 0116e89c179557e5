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
