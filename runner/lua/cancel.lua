#!lua flags=allow-oom
-- waiting, delayed -> cancelled at once; moving: not until it is in the other queue; claimed -> cancelled through its holder, who meets the wish at the next heartbeat.
-- ARGV 7 id, 8 token ('' for somebody who is not the holder), 9 attempt (a JSON line or '')
-- RETURNS 'cancelled' | 'cancelling' | 'again' | 'lost' | the state that cannot be cancelled: 'done', 'dead', 'moving' (ask again, it is a moment), 'moved' | 'unknown'
-- INVARIANT: an id that is not there leaves no trace, so that the next task of that id runs.
local wrong = stale()
if wrong then return wrong end
local ID, TOKEN, ATTEMPT = ARGV[7], ARGV[8], ARGV[9]
if TOKEN ~= '' then
  local r, word = holder(ID, TOKEN)
  if not r then return word end
  end_life(ID, r, 'cancelled', TOKEN, '', ATTEMPT)
  return 'cancelled'
end
local r = load(ID)
if not r then
  if call('HEXISTS', BURIED, ID) == 1 then return 'dead' end
  return marker_state(ID) or 'unknown'
end
if r.state == 'claimed' then
  r.wish = 'cancel'
  save(ID, r)
  return 'cancelling'
end
if r.state == 'moving' then return r.state end
-- O(n), but a reference left behind would start a pod for nothing.
if not STREAM and r.state == 'waiting' then call('LREM', WATCHED[r.priority], -1, 'ref:' .. ID) end
end_life(ID, r, 'cancelled', '-', '', ATTEMPT)
return 'cancelled'
