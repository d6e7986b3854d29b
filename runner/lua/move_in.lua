#!lua flags=allow-oom
-- (moving in another queue) -> waiting: the second move; the task goes on here under its id, with its counters and attempts.
-- ARGV 7 id, 8 move (what `move_out` named it), 9 priority, 10 first_ms, 11 counters, 12 life, 13 business key ('' none), 14 body,
--   15 attempts, the last of which names the move
-- RETURNS 'made' | 'exists' (this very move came here before) | 'taken' (another task has this id or key here; nothing changed)
-- INVARIANT: a move makes one task, however often it is asked for and whatever became of that task meanwhile; no other task is replaced.
local wrong = stale()
if wrong then return wrong end
local ID, MOVE, PRIORITY, FIRST, COUNTERS, LIFE, KEY, BODY, ATTEMPTS =
  ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[11], ARGV[12], ARGV[13], ARGV[14], ARGV[15]

local function attempts_here()
  local lines = call('HGET', LIVES, ID)
  if lines then return lines end
  local buried = call('HGET', BURIED, ID)
  local letter = buried and dead_fields(match(buried, '^(%S+)'))
  return letter and letter.attempts or find_marker('l:' .. ID) or ''
end

local function key_taken()
  if KEY == '' then return false end
  local live = call('HGET', BUSINESS, KEY)
  if live then return live ~= ID end
  return match(find_marker('k:' .. KEY) or '', '^done ')
end

if string.find(attempts_here(), MOVE, 1, true) then return 'exists' end
if load(ID) or marker_state(ID) == 'done' or key_taken() then return 'taken' end
local r = fresh(declared(PRIORITY), '-', FIRST)
r.counters, r.life, r.key = COUNTERS, LIFE, KEY
begin_life(ID, r)
call('HSET', LIVES, ID, ATTEMPTS)
if KEY ~= '' then
  call('HSET', BUSINESS, KEY, ID)
  supersede(KEY, ID)
end
add_waiting(ID, r, BODY)
save(ID, r)
count('moved_in')
return 'made'
