-- As random.lua, at a rate: each connection rests for about PAUSE_MS before it asks again.
-- wrk … URL -- COUNT PREFIX PAUSE_MS
local random, count, prefix, pause, tail = math.random, 1, "/k/", 10, ""

function init(args)
  count, prefix, pause = tonumber(args[1]), args[2], tonumber(args[3])
  math.randomseed(os.time())
  tail = " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\n\r\n"
end

-- wrk looks for this function before it runs `init`.
function delay()
  return random(2 * pause)
end

function request()
  return "GET " .. prefix .. random(count) .. tail
end
