#!lua
-- dead -> waiting: dead letters run again, their counters at 0 but for `replays`, their first submit and attempts kept. Takes a chunk of at most 1 MiB.
-- ARGV 7 default priority, for one that is no longer declared; 8 attempt (a JSON line that says who replayed); 9.. entries of the dead stream
-- RETURNS {looked at, replayed}
-- INVARIANT: a letter becomes exactly one waiting task, however many replay at once; an id that lives again is left alone.
local wrong = stale()
if wrong then return wrong end
local DEFAULT, ATTEMPT = ARGV[7], ARGV[8]
local bytes, looked, replayed = 0, 0, 0
for i = 9, #ARGV do
  local f = dead_fields(ARGV[i])
  if f and not load(f.id) then
    local r = fresh(WATCHED[f.priority] and f.priority or DEFAULT, '-', f.first_ms)
    local replays = tonumber(match(f.counters, '^%d+,%d+,%d+,%d+,%d+,(%d+)'))
    r.counters, r.life, r.key = '0,0,0,0,0,' .. (replays + 1) .. ',0', f.life, f.key
    if r.key ~= '' and call('HSETNX', BUSINESS, r.key, f.id) == 0 then r.key = '' end
    call('HSET', LIVES, f.id, with_attempt(f.attempts, ATTEMPT))
    add_waiting(f.id, r, f.body)
    save(f.id, r)
    remove_dead(ARGV[i], f)
    replayed, bytes = replayed + 1, bytes + #f.body
  end
  looked = looked + 1
  if bytes > CHUNK_BYTES then break end
end
if replayed > 0 then count('replayed', replayed) end
return {looked, replayed}
