#!lua flags=allow-oom
-- waiting, delayed -> dead: what was not started before its expiry. Takes a chunk.
-- ARGV 7 limit
-- RETURNS how many were looked at
-- INVARIANT: a claimed task never expires: the claim took its expiry away.
local wrong = stale()
if wrong then return wrong end
local ids = call('ZRANGEBYSCORE', EXPIRIES, '-inf', NOW, 'LIMIT', 0, tonumber(ARGV[7]))
local bytes, steps, looked = 0, 0, 0
for i = 1, #ids do
  local id = ids[i]
  local r = load(id)
  if r and (r.state == 'waiting' or r.state == 'delayed') then
    local body = body_of(id, r) or ''
    if not STREAM and r.state == 'waiting' then
      steps = steps + call('LLEN', WATCHED[r.priority])
      call('LREM', WATCHED[r.priority], -1, 'ref:' .. id)
    end
    to_dead(id, r, body, 'expired', 'not started before its expiry', '-', '')
    bytes = bytes + #body
  else
    call('ZREM', EXPIRIES, id)
  end
  looked = i
  -- Taking a reference out is O(n): 200 of them out of a list of 10,000 held the server for 60 ms.
  if bytes > CHUNK_BYTES or steps > 200000 then break end
end
return looked
