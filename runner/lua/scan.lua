#!lua flags=no-writes
-- The dead letters after an entry, without their bodies, for the controller's choice; nothing changed. At most `limit` or about 1 MiB of them.
-- ARGV 7 the entry to begin behind ('' the oldest), 8 limit
-- RETURNS a row per letter, oldest first: entry reason counters first_ms id, in one line of words, the id its rest; an entry of another
--   program, that is no letter, is alone in its row. One text per row: redis-py spends more on reading five than the server on all of this.
-- INVARIANT: only an empty answer means that there are no more.
local wrong = stale()
if wrong then return wrong end
local OURS = 'id body reason counters first_ms priority life key attempts'
local from, rows, bytes = ARGV[7] == '' and '-' or '(' .. ARGV[7], {}, 0

-- Our own letters have their fields in the order that `to_dead` writes; made a table first, they cost twice as much.
local function row(entry, words)
  if #words == 20 and table.concat({words[1], words[3], words[5], words[9], words[11], words[13], words[15], words[17], words[19]}, ' ') == OURS then
    bytes = bytes + #words[4] + #words[8] + #words[20]
    return table.concat({entry, words[6], words[10], words[12], words[2]}, ' ')
  end
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
