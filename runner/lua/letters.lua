#!lua flags=no-writes
-- Dead letters whole, their bodies too, for people; nothing changed. At most `limit` or about 1 MiB of them.
-- ARGV 7 'oldest' or 'newest' first, 8 the entry to begin behind ('' that end), 9 limit
-- RETURNS entries as XRANGE has them
-- INVARIANT: only an empty answer means that there are no more.
local wrong = stale()
if wrong then return wrong end
local newest, behind, rows, bytes = ARGV[7] == 'newest', ARGV[8], {}, 0

local function following()
  local bound = behind ~= '' and '(' .. behind
  if newest then return call('XREVRANGE', DEAD, bound or '+', '-', 'COUNT', 1)[1] end
  return call('XRANGE', DEAD, bound or '-', '+', 'COUNT', 1)[1]
end

while #rows < tonumber(ARGV[9]) and bytes <= CHUNK_BYTES do
  -- One by one: 200 at once could be 200 MiB.
  local found = following()
  if not found then break end
  rows[#rows + 1] = found
  behind = found[1]
  for _, word in ipairs(found[2]) do bytes = bytes + #word end
end
return rows
