#!lua flags=allow-oom
-- claimed, moving -> the same: take claims over whose pods are shown to be gone, before they expire. Takes a chunk.
-- ARGV 7 token stem (the n-th claim gets stem:n), 8 the reaper's own lease in ms, 9.. per claim, 2 each: id, the token that was seen
-- RETURNS {now_ms, row, ...}, rows as in lua/reap.lua, for the claims that were taken
-- INVARIANT: only a claim whose token still is the one seen is taken: a holder that settled, or a task that somebody else holds now, is left
--   alone. Nothing is settled here; asking again with the same stem answers the same.
local wrong = stale()
if wrong then return wrong end
local STEM, REAPER_MS = ARGV[7], tonumber(ARGV[8])
hear()
local rows = {NOW}

local function take(id, seen, token)
  local head, holding, tail = match(call('HGET', TASKS, id) or '', '^(%a+ %S+ %S+ %S+ %S+ %S+ %S+ )(%S+)( .*)$')
  if holding == token then return call('HGET', HELD, token), head .. token .. tail end
  if holding ~= seen or not (match(head, '^claimed ') or match(head, '^moving ')) then return end
  local by = call('HGET', HELD, seen) or '0 - - ' .. id
  call('HSET', TASKS, id, head .. token .. tail)
  call('ZADD', CLAIMS, NOW + REAPER_MS, id)
  call('HDEL', HELD, seen)
  call('HSET', HELD, token, by)
  return by, head .. token .. tail
end

for i = 9, #ARGV, 2 do
  local by, record = take(ARGV[i], ARGV[i + 1], STEM .. ':' .. (i - 7) / 2)
  if by then rows[#rows + 1] = #by .. ' ' .. by .. record end
end
return rows
