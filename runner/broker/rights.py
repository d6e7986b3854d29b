"""What the login in use may not do that its role has to. Called by cli's doctor.

The lists are those of charts/runner/files/users.acl; a test compares. Redis is asked within a script, which every role may run: nothing is
called, and the right to read users is not needed.
"""

from __future__ import annotations

from typing import Any

from redis.exceptions import NoPermissionError

from runner.broker.base import text
from runner.keys import index_key, queue_key

SHARED = "ping hello select client|setname time eval evalsha hget hgetall hset hdel hexists hincrby zadd zrem zscore zcard xadd xlen xrange"
SHARED += " xdel xack lpush rpush lrem llen pexpireat"
MOVING = "get set hmget zrange zrangebyscore zcount xreadgroup xgroup|create rpop"
ROLES = {
    "producer": f"{SHARED} wait smembers".split(),
    "worker": f"{SHARED} wait {MOVING}".split(),
    "controller": (
        f"{SHARED} {MOVING} del type scan hscan hsetnx hlen sadd smembers xrevrange xgroup|delconsumer xinfo|groups xinfo|consumers lindex"
    ).split(),
}
# Every call is asked about whole, with all that it needs: asked about a bare EVAL, for a user who may not touch all keys, Redis 7.0.15 and
# Valkey crashed. What is not here takes a key and more.
KEYLESS = {"ping": "", "hello": "3", "select": "0", "client|setname": "x", "time": "", "wait": "1 1", "scan": "0"}
KEYED = {
    **dict.fromkeys(("eval", "evalsha"), "x 1 KEY"),
    **dict.fromkeys(("hgetall", "zcard", "xlen", "rpop", "llen", "get", "del", "type", "hlen", "smembers", "xinfo|groups"), "KEY"),
    **dict.fromkeys(("zrange", "zrangebyscore", "zcount", "xrange", "xrevrange", "lrem"), "KEY 0 1"),
    **dict.fromkeys(("hset", "hsetnx", "hincrby"), "KEY f 1"),
    "zadd": "KEY 1 m",
    "xadd": "KEY * f v",
    "xack": "KEY g 1-1",
    "xreadgroup": "GROUP g c STREAMS KEY >",
    "xgroup|create": "KEY g 0",
    "xgroup|delconsumer": "KEY g c",
    "pexpireat": "KEY 1",
}
LACKING = """
local lacking = {}
for _, line in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(line, '%S+') do words[#words + 1] = word end
  if not redis.acl_check_cmd(unpack(words)) then lacking[#lacking + 1] = line end
end
return lacking
"""


def lacking(client: Any, role: str, prefix: str, queue: str) -> list[str]:
    """A sentence for the commands that are missing, and one for the keys; none if the role can do all of its work."""
    main, patterns = queue_key(prefix, queue), f"~{prefix}:* ~{{{prefix}:*" if prefix else "~*"
    others = [f"{{{main}}}:tasks", *([index_key(prefix)] if role == "controller" else [])]
    try:
        commands = _refused(client, {one: _call(one, main) for one in ROLES[role]})
        closed = _refused(client, {key: _call("hget", key) for key in others})
    except NoPermissionError:
        return [f"this login may not run scripts, and every transition is one: give it the rules of the {role} in docs/security.md"]
    if set(ROLES[role]) - set(KEYLESS) <= set(commands):
        return [f"this login may do nothing with the key {main}: give it {patterns}, and the rules of the {role} in docs/security.md"]
    said = [f"this login lacks {', '.join(commands)}, which a {role} calls: give it +{' +'.join(commands)}"] if commands else []
    return said + ([f"this login may not use {', '.join(closed)}: give it {patterns}"] if closed and "hget" not in commands else [])


def _call(command: str, key: str) -> str:
    said = KEYLESS[command] if command in KEYLESS else KEYED.get(command, "KEY x").replace("KEY", key)
    return f"{command.replace('|', ' ')} {said}"


def _refused(client: Any, calls: dict[str, str]) -> list[str]:
    """The names of those calls that the login may not make."""
    found = {text(line) for line in client.eval(LACKING, 0, *calls.values())}
    return [name for name, call in calls.items() if call in found]
