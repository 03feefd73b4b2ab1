-- Asks for PREFIX1 … PREFIX<COUNT> in order, over and over.   wrk … URL -- COUNT PREFIX
local count, prefix, asked, tail = 1, "/k/", 0, ""

function init(args)
  count, prefix = tonumber(args[1]), args[2]
  tail = " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\n\r\n"
end

function request()
  asked = asked % count + 1
  return "GET " .. prefix .. asked .. tail
end
