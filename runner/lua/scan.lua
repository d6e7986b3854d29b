#!lua flags=no-writes
-- The dead letters after an entry, without their bodies, for the controller's choice; nothing changed. At most `limit` or about 1 MiB of them.
-- ARGV 7 the entry to begin behind ('' the oldest), 8 limit
-- RETURNS a row per letter, oldest first: entry reason counters first_ms id, in one line of words, the id its rest; an entry of another
--   program, that is no letter, is alone in its row. One text per row: read as five, a replay costs the controller half as much again.
-- INVARIANT: only an empty answer means that there are no more.
local wrong = stale()
if wrong then return wrong end
local from, rows, bytes = ARGV[7] == '' and '-' or '(' .. ARGV[7], {}, 0

local function row(entry, words)
  local f = {}
  for i = 1, #words, 2 do
    f[words[i]] = words[i + 1]
    bytes = bytes + #words[i + 1]
  end
  local whole = f.id and f.body and f.reason and f.counters and f.first_ms and f.priority and f.life and f.key and f.attempts
  return whole and table.concat({entry, f.reason, f.counters, f.first_ms, f.id}, ' ') or entry
end

while #rows < tonumber(ARGV[8]) and bytes <= CHUNK_BYTES do
  -- One by one: 200 at once could be 200 MiB.
  local found = call('XRANGE', DEAD, from, '+', 'COUNT', 1)[1]
  if not found then break end
  rows[#rows + 1] = row(found[1], found[2])
  from = '(' .. found[1]
end
return rows
