#!lua flags=allow-oom
-- waiting, delayed -> dead: what was not started before its expiry. Takes a chunk.
-- ARGV 7 limit
-- RETURNS how many were looked at
-- INVARIANT: a claimed task never expires: the claim took its expiry away.
local wrong = stale()
if wrong then return wrong end
local ids = call('ZRANGEBYSCORE', EXPIRIES, '-inf', NOW, 'LIMIT', 0, tonumber(ARGV[7]))
local bytes, looked = 0, 0
for i = 1, #ids do
  local id = ids[i]
  local r = load(id)
  if r and (r.state == 'waiting' or r.state == 'delayed') then
    local body = body_of(id, r) or ''
    if not STREAM and r.state == 'waiting' then call('LREM', WATCHED[r.priority], -1, 'ref:' .. id) end
    to_dead(id, r, body, 'expired', 'not started before its expiry', '-', '')
    bytes = bytes + #body
  else
    call('ZREM', EXPIRIES, id)
  end
  looked = i
  if bytes > CHUNK_BYTES then break end
end
return looked
