#!lua flags=allow-oom
-- done -> done: bodies of done tasks that are over the caps of bytes or age are dropped, the oldest first. Takes a chunk.
-- ARGV 7 most bytes to keep, 8 oldest entry time to keep in ms, 9 limit
-- RETURNS how many were dropped: it stops at about 1 MiB
-- INVARIANT: no marker is touched; a done id answers as before, only its body is gone.
local wrong = stale()
if wrong then return wrong end
local MOST, OLDEST_MS, LIMIT = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local held, dropped, bytes = tonumber(call('HGET', COUNTS, 'history_bytes') or '0'), 0, 0
while dropped < LIMIT and bytes <= CHUNK_BYTES do
  local entry, size = oldest_body()
  if not entry then
    -- Somebody deleted the key: what it held is no longer there to be counted.
    if held ~= 0 then call('HDEL', COUNTS, 'history_bytes') end
    break
  end
  if held <= MOST and tonumber(match(entry, '^%d+')) >= OLDEST_MS then break end
  held = drop_body(entry, size)
  dropped, bytes = dropped + 1, bytes + size
end
return dropped
