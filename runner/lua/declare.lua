#!lua
-- Write a queue's declaration, with the groups that its streams need. Field and value pairs; `rev` is raised here.
-- KEYS after the priorities: the watched keys of the declaration that the caller found, if any.
-- ARGV 1..6 as everywhere, of the new declaration, but rev is that of the declaration found ('0' none); 7 newest layout known, 8.. field, value, ...
-- RETURNS the new rev, or an error: 'STALEQUEUE' (declared again meanwhile: look again) | 'NEWERLAYOUT n' | 'QUEUEBUSY' with what keeps the mode or a priority from changing
-- INVARIANT: no task is ever out of reach of the declaration: mode and priorities change only when the queue holds none.
local known = call('HMGET', QUEUE, 'layout', 'mode', 'priorities', 'default_priority', 'rev')
if known[1] and tonumber(known[1]) > tonumber(ARGV[7]) then return redis.error_reply('NEWERLAYOUT ' .. known[1]) end
if (known[5] or '0') ~= REV then return redis.error_reply('STALEQUEUE declared again') end
local new = {}
for i = 8, #ARGV, 2 do new[ARGV[i]] = ARGV[i + 1] end
local moved = known[2] and (known[2] ~= new.mode or known[3] ~= new.priorities or known[4] ~= new.default_priority)
if moved and call('HLEN', TASKS) > 0 then return redis.error_reply('QUEUEBUSY ' .. call('HLEN', TASKS) .. ' tasks') end
-- Bare pushes have no record yet.
for i = FIRST_PRIORITY + #NAMES, moved and #KEYS or 0 do
  local kind = call('TYPE', KEYS[i]).ok
  local length = kind == 'stream' and call('XLEN', KEYS[i]) or kind == 'list' and call('LLEN', KEYS[i]) or 0
  if length > 0 then return redis.error_reply('QUEUEBUSY ' .. length .. ' tasks in key ' .. KEYS[i]) end
end
for _, name in ipairs(NAMES) do
  local kind = call('TYPE', WATCHED[name]).ok
  local wanted = STREAM and 'stream' or 'list'
  if kind ~= 'none' and kind ~= wanted then
    local length = kind == 'stream' and call('XLEN', WATCHED[name]) or kind == 'list' and call('LLEN', WATCHED[name]) or 1
    if length > 0 then return redis.error_reply('QUEUEBUSY a ' .. kind .. ' in key ' .. WATCHED[name]) end
    call('DEL', WATCHED[name])
  end
  if STREAM then redis.pcall('XGROUP', 'CREATE', WATCHED[name], GROUP, '0', 'MKSTREAM') end
end
for i = 8, #ARGV, 2 do call('HSET', QUEUE, ARGV[i], ARGV[i + 1]) end
-- The first rev is the time: counted from 1, a queue declared anew after a FLUSHALL had the rev of the one before, and a producer that knew
-- that one as a stream went on to add entries to what is a list now.
return call('HINCRBY', QUEUE, 'rev', known[5] and 1 or string.format('%.0f', NOW))
