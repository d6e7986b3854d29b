#!lua flags=allow-oom
-- delayed -> waiting: what is due goes to its watched key. Takes a chunk of at most `limit` items or 1 MiB.
-- ARGV 7 limit
-- RETURNS {promoted, next due time in ms or -1}
-- INVARIANT: a due item becomes exactly one waiting one, however many promote at once; the body's bytes stay the same.
local wrong = stale()
if wrong then return wrong end
local ids = call('ZRANGEBYSCORE', DELAYED, '-inf', NOW, 'LIMIT', 0, tonumber(ARGV[7]))
local moved, gone, records, bytes = 0, {}, {}, 0
if #ids > 0 then
  local lines = call('HMGET', TASKS, unpack(ids))
  for i = 1, #ids do
    -- One by one: 200 at once could be 200 MiB. A list takes only the reference.
    local id, r = ids[i], parse(lines[i])
    local body = STREAM and call('HGET', BODIES, id) or not STREAM and call('HEXISTS', BODIES, id) == 1
    bytes = bytes + (STREAM and body and #body or 0)
    if moved > 0 and bytes > CHUNK_BYTES then break end
    gone[#gone + 1] = id
    if r and body then
      r.state = 'waiting'
      if STREAM then
        r.entry = call('XADD', WATCHED[r.priority], '*', 'id', id, 'body', body)
      else
        call('LPUSH', WATCHED[r.priority], 'ref:' .. id)
      end
      records[#records + 1] = id
      records[#records + 1] = line(r)
    elseif r then
      to_dead(id, r, '', 'unreadable', 'the body was removed from Redis by another program', '-', '')
    end
    moved = moved + 1
  end
  call('ZREM', DELAYED, unpack(gone))
  if #records > 0 then call('HSET', TASKS, unpack(records)) end
  if STREAM then call('HDEL', BODIES, unpack(gone)) end
end
local next_due = call('ZRANGE', DELAYED, 0, 0, 'WITHSCORES')
return {moved, tonumber(next_due[2] or '-1')}
