-- Asks for PREFIX<FIRST> … PREFIX<FIRST+COUNT-1> in order, TIMES times over, then says "finished".
-- wrk itself only stops by the clock, so whoever started it interrupts it at that word.
-- With a BLOCK so many pages are asked for TIMES times before the next ones are. PREFIX is /k/ unless given.
-- wrk … URL -- FIRST COUNT TIMES [PREFIX [BLOCK]]
local first, count, times, block, asked, answered, prefix, tail = 1, 1, 1, 1, 0, 0, "/k/", ""
local total, tried = 1, false

function init(args)
  first, count = tonumber(args[1]), tonumber(args[2])
  times = tonumber(args[3])
  total = count * times
  prefix = args[4] or prefix
  block = tonumber(args[5] or count)
  tail = " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\n\r\n"
end

function request()
  -- Requests beyond the total, while the interrupt is on its way, repeat the last page.
  local n = count - 1
  -- The first request only shows wrk how many it gets at a time: it is not sent.
  if not tried then
    tried = true
    return "GET " .. prefix .. first .. tail
  end
  if asked < total then
    local begun = math.floor(asked / (block * times)) * block
    -- The last block may be shorter.
    n = begun + (asked - begun * times) % math.min(block, count - begun)
  end
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
