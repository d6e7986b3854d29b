#!lua flags=allow-oom
-- waiting -> waiting | dead: tasks whose entry or reference another program removed (DEL, XTRIM, LTRIM of a watched key). Takes a chunk.
--   A list's body is still there, and its reference is pushed again; a stream's body went with its entry, so it is buried as unreadable.
-- ARGV 7 1 when the caller saw the lists empty before it read the ids, else 0; 8.. ids that the caller found waiting
-- RETURNS {looked at, pushed again, buried}
-- INVARIANT: a task whose entry is there is left alone; a reference pushed twice is dropped by the claim that meets the second one.
local wrong = stale()
if wrong then return wrong end
local WERE_EMPTY = ARGV[7] == '1'
local pushed, buried = 0, 0

local function missing_entry(r) return #call('XRANGE', WATCHED[r.priority], r.entry, r.entry) == 0 end

for i = 8, #ARGV do
  local id = ARGV[i]
  local r = load(id)
  local waits = r and r.state == 'waiting'
  local body = waits and not STREAM and call('HGET', BODIES, id)
  if body and WERE_EMPTY then
    call('LPUSH', WATCHED[r.priority], 'ref:' .. id)
    pushed = pushed + 1
  elseif waits and not body and (not STREAM or missing_entry(r)) then
    to_dead(id, r, '', 'unreadable', 'its entry was removed from Redis by another program', '-', '')
    buried = buried + 1
  end
end
if pushed > 0 then count('recovered', pushed) end
return {#ARGV - 7, pushed, buried}
