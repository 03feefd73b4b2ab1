-- Asks for /k/1 … /k/COUNT, drawn at random, evenly.   wrk … URL -- COUNT
local random, count, tail = math.random, 1, ""

function init(args)
  count = tonumber(args[1])
  math.randomseed(os.time())
  tail = " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\n\r\n"
end

function request()
  return "GET /k/" .. random(count) .. tail
end
