#!lua flags=allow-oom
-- claimed -> done: the outcome is recorded, the marker answers for the id from now on.
-- ARGV 7 id, 8 token, 9 result (JSON or ''), 10 attempt (a JSON line)
-- RETURNS 'ok' | 'again' (this token settled before) | 'lost'
-- INVARIANT: only the holder's token completes; nothing of the task stays but its marker.
local wrong = stale()
if wrong then return wrong end
local ID, TOKEN, RESULT, ATTEMPT = ARGV[7], ARGV[8], ARGV[9], ARGV[10]
local r, word = holder(ID, TOKEN)
if not r then return word end
end_life(ID, r, 'done', TOKEN, RESULT, ATTEMPT)
return 'ok'
