-- Asks for PREFIX<FIRST> … PREFIX<FIRST+COUNT-1> in order, TIMES times over, then says "finished".
-- wrk itself only stops by the clock, so whoever started it interrupts it at that word.
-- wrk … URL -- FIRST COUNT TIMES [PREFIX]     PREFIX is /k/ unless given.
local first, count, total, asked, answered, prefix, tail = 1, 1, 1, 0, 0, "/k/", ""

function init(args)
  first, count = tonumber(args[1]), tonumber(args[2])
  total = count * tonumber(args[3])
  prefix = args[4] or prefix
  tail = " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\n\r\n"
end

function request()
  -- Requests beyond the total, while the interrupt is on its way, repeat the last page.
  local n = asked < total and asked % count or count - 1
  asked = asked + 1
  return "GET " .. prefix .. (first + n) .. tail
end

function response()
  answered = answered + 1
  if answered == total then
    io.stdout:write("finished\n")
    io.stdout:flush()
  end
end
