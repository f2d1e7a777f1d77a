"""What must happen at Redis in one step, in Lua. Each script says its keys and arguments.

Whoever works on a stream holds its lease: a key whose value is a token that nobody else has. What
must not be done without the lease is done in a script that looks at the key first, so that a
process which was stopped for longer than its lease and wakes up again can do no harm.
"""

from typing import Final

RENEW: Final = """
-- KEYS: lease. ARGV: token, milliseconds. Returns whether it is still held.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""

RELEASE: Final = """
-- KEYS: lease. ARGV: token. Returns whether it was held.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""

TAKE_OVER: Final = """
-- KEYS: lease, stream. ARGV: token, group, consumer.
-- Returns the last id that the group was given, how many entries were deleted before they were
-- handled, and of the oldest one that is not acknowledged: id, and how often it was given, this
-- time included. Nil without the lease.
local lease, stream = KEYS[1], KEYS[2]
local token, group, consumer = ARGV[1], ARGV[2], ARGV[3]
if redis.call('GET', lease) ~= token then return false end
local from, deleted = '0-0', 0
repeat
  local found =
    redis.call('XAUTOCLAIM', stream, group, consumer, 0, from, 'COUNT', 100, 'JUSTID')
  from, deleted = found[1], deleted + #(found[3] or {})
until from == '0-0'
local last = '0-0'
for _, found in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
  local named = {}
  for place = 1, #found, 2 do named[found[place]] = found[place + 1] end
  if named['name'] == group then last = named['last-delivered-id'] end
end
local oldest = redis.call('XPENDING', stream, group, '-', '+', 1)[1]
if not oldest then return {last, deleted} end
redis.call('XCLAIM', stream, group, consumer, 0, oldest[1])
return {last, deleted, oldest[1], oldest[4] + 1}
"""

READ_NEW: Final = """
-- KEYS: lease, stream. ARGV: token, group, consumer, count.
-- Returns entries that nobody was given before. Nil without the lease.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
local found = redis.call(
  'XREADGROUP', 'GROUP', ARGV[2], ARGV[3], 'COUNT', ARGV[4], 'STREAMS', KEYS[2], '>')
if not found then return {} end
return found[1][2]
"""

READ_AGAIN: Final = """
-- KEYS: lease, stream. ARGV: token, group, consumer, count.
-- Returns entries that were given before and not acknowledged; of a deleted one the id alone. Nil
-- without the lease. XREADGROUP would count each of them as given once more: how often an entry was
-- given is to say how many members have had it, not how often one of them had to look again.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
local entries = {}
for _, given in ipairs(redis.call('XPENDING', KEYS[2], ARGV[2], '-', '+', ARGV[4], ARGV[3])) do
  entries[#entries + 1] = redis.call('XRANGE', KEYS[2], given[1], given[1])[1] or {given[1], false}
end
return entries
"""

BURY: Final = """
-- KEYS: lease, stream, dead letters. ARGV: token, group, id, then names and values.
-- Adds a dead letter and acknowledges the entry. Returns the letter's id; '' where this was done
-- before; nil without the lease. What fails leaves the entry as it was: XADD comes first. Where
-- stream or group were deleted meanwhile, the letter is all that is left of the event.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
local pending = redis.pcall('XPENDING', KEYS[2], ARGV[2], ARGV[3], ARGV[3], 1)
if pending.err and not string.find(pending.err, 'NOGROUP') then return pending end
if not pending.err and #pending == 0 then return '' end
local fields = {}
for place = 4, #ARGV do fields[place - 3] = ARGV[place] end
local letter = redis.call('XADD', KEYS[3], '*', unpack(fields))
redis.call('XACK', KEYS[2], ARGV[2], ARGV[3])
return letter
"""

BRING: Final = """
-- KEYS: delayed copies, stream. ARGV: delay in milliseconds, count, then MAXLEN, ~, number or none.
-- Moves copies that are old enough to the stream. Returns milliseconds until the next one is, or
-- -1 where there is none.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local delay = tonumber(ARGV[1])
local bounds = {}
for place = 3, #ARGV do bounds[place - 2] = ARGV[place] end
for _, copy in ipairs(redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[2])) do
  local due = tonumber(string.match(copy[1], '^%d+')) + delay
  if due > now then return due - now end
  local command = {'XADD', KEYS[2]}
  for _, bound in ipairs(bounds) do command[#command + 1] = bound end
  command[#command + 1] = '*'
  for _, part in ipairs(copy[2]) do command[#command + 1] = part end
  redis.call(unpack(command))
  redis.call('XDEL', KEYS[1], copy[1])
end
if redis.call('XLEN', KEYS[1]) == 0 then return -1 end
return 0
"""

JOIN: Final = """
-- KEYS: members. ARGV: own name, milliseconds. Returns the names of all who have joined lately.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZRANGE', KEYS[1], 0, -1)
"""
