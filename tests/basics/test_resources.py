"""Free memory as the system reports it."""

from unittest import mock

import pytest

from featly.basics import resources

SYSTEM = {
    "/proc/meminfo": "MemTotal: 9000000 kB\nMemAvailable:  8000000 kB\n",
    "/sys/fs/cgroup/memory.max": "2000000000\n",
    "/sys/fs/cgroup/memory.current": "1900000000\n",
    "/sys/fs/cgroup/memory.stat": "anon 100\ninactive_file 1200000000\nactive_file 300000000\n",
}


def free_memory_with(**changes):
    contents = SYSTEM | {f"/sys/fs/cgroup/memory.{name}": text for name, text in changes.items()}

    def open_system_file(path, *_):
        if contents.get(path) is None:
            raise FileNotFoundError(path)
        return mock.mock_open(read_data=contents[path])()

    with mock.patch.object(resources, "open", open_system_file, create=True):
        return resources.free_memory()


@pytest.mark.parametrize(
    ("changes", "free"),
    [
        ({}, 1_600_000_000),  # the file cache counts as free
        ({"stat": None}, 100_000_000),
        ({"max": "max\n"}, 8_000_000 * 1024),
        ({"max": None}, 8_000_000 * 1024),
        ({"current": "2000000000", "stat": ""}, resources.LEAST_MEMORY),
    ],
)
def test_a_container_has_less(changes, free):
    assert free_memory_with(**changes) == free
