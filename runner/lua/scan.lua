#!lua flags=no-writes
-- The dead letters after an entry, without their bodies, for the controller's choice; nothing changed. At most `limit` or about 1 MiB of them.
-- ARGV 7 the entry to begin behind ('' the oldest), 8 limit
-- RETURNS {entry, id, reason, counters, first_ms} per letter, oldest first; an entry of another program, that is no letter, is alone in its row
-- INVARIANT: only an empty answer means that there are no more.
local wrong = stale()
if wrong then return wrong end
local from, rows, bytes = ARGV[7] == '' and '-' or '(' .. ARGV[7], {}, 0
while #rows < tonumber(ARGV[8]) and bytes <= CHUNK_BYTES do
  -- One by one: 200 at once could be 200 MiB.
  local found = call('XRANGE', DEAD, from, '+', 'COUNT', 1)[1]
  if not found then break end
  local f = {}
  for i = 1, #found[2], 2 do
    f[found[2][i]] = found[2][i + 1]
    bytes = bytes + #found[2][i + 1]
  end
  local whole = f.id and f.body and f.reason and f.counters and f.first_ms and f.priority and f.life and f.key and f.attempts
  rows[#rows + 1] = whole and {found[1], f.id, f.reason, f.counters, f.first_ms} or {found[1]}
  from = '(' .. found[1]
end
return rows
