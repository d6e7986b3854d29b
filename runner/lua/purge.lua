#!lua flags=allow-oom
-- dead -> (nothing): dead letters dropped for good, by name or, for `*`, the oldest that are over the caps. Takes a chunk.
-- ARGV 7 total to raise ('purged' | 'trimmed'), 8 '*' or an entry, then for '*': 9 most to keep, 10 oldest entry time to keep in ms, 11 limit; else 9.. further entries
-- RETURNS {looked at, dropped}: it stops at about 1 MiB
-- INVARIANT: only dead letters are ever dropped.
local wrong = stale()
if wrong then return wrong end
local looked, dropped, bytes = 0, 0, 0

local function drop(entry)
  local f = dead_fields(entry)
  if not f then return end
  remove_dead(entry, f)
  dropped = dropped + 1
  bytes = bytes + #(f.body or '')
end

if ARGV[8] == '*' then
  local over = call('XLEN', DEAD) - tonumber(ARGV[9])
  while dropped < tonumber(ARGV[11]) and bytes <= CHUNK_BYTES do
    -- One by one: 200 at once could be 200 MiB.
    local oldest = call('XRANGE', DEAD, '-', '+', 'COUNT', 1)[1]
    if not oldest or (dropped >= over and tonumber(match(oldest[1], '^%d+')) >= tonumber(ARGV[10])) then break end
    drop(oldest[1])
  end
else
  for i = 8, #ARGV do
    drop(ARGV[i])
    looked = looked + 1
    if bytes > CHUNK_BYTES then break end
  end
end
if dropped > 0 then count(ARGV[7], dropped) end
return {looked, dropped}
