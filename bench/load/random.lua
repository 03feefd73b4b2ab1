-- Asks for PREFIX1 … PREFIX<COUNT>, drawn at random, evenly.   wrk … URL -- COUNT [PREFIX]
-- PREFIX is /k/ unless given.
local random, count, prefix, tail = math.random, 1, "/k/", ""

function init(args)
  count, prefix = tonumber(args[1]), args[2] or prefix
  math.randomseed(os.time())
  tail = " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\n\r\n"
end

function request()
  return "GET " .. prefix .. random(count) .. tail
end
