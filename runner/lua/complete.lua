#!lua flags=allow-oom
-- claimed -> done: the outcome is recorded, the marker answers for the id from now on; the body is kept where the queue keeps them.
-- ARGV 7 id, 8 token, 9 result (JSON or ''), 10 attempt (a JSON line), 11 history_bytes: most bytes of ids and bodies kept, 0 for none
-- RETURNS 'ok' | 'again' (this token settled before) | 'lost'
-- INVARIANT: only the holder's token completes; nothing of the task stays but its marker and, within history_bytes, its body.
local wrong = stale()
if wrong then return wrong end
local ID, TOKEN, RESULT, ATTEMPT, HISTORY_BYTES = ARGV[7], ARGV[8], ARGV[9], ARGV[10], tonumber(ARGV[11])
local DROPPED_AT_MOST = 100
local r, word = holder(ID, TOKEN)
if not r then return word end
local body = HISTORY_BYTES > 0 and body_of(ID, r)
end_life(ID, r, 'done', TOKEN, RESULT, ATTEMPT)
local size = body and #ID + #body
if not size or size > HISTORY_BYTES then return 'ok' end
-- A body for which 100 old ones do not make room is not kept: a settle has an end, and the bound holds.
local held = tonumber(call('HGET', COUNTS, 'history_bytes') or '0')
for _ = 1, DROPPED_AT_MOST do
  if held + size <= HISTORY_BYTES then break end
  local entry, freed = oldest_body()
  if not entry then break end
  held = drop_body(entry, freed)
end
if held + size <= HISTORY_BYTES then
  mark('h:' .. ID, call('XADD', HISTORY, '*', 'id', ID, 'body', body, 'priority', r.priority))
  count('history_bytes', size)
end
return 'ok'
