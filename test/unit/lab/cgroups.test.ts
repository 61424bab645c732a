import { describe, expect, test } from 'vitest';
import { cgroupFolders } from '../../../src/lab/cgroups.ts';

describe('cgroups of a process', () => {
  test('are where the unified hierarchy is mounted', () => {
    const mounts =
      '29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n30 23 0:27 / /proc rw - proc proc rw\n';
    expect(cgroupFolders('0::/user.slice/session-1.scope\n', mounts)).toEqual([
      '/sys/fs/cgroup/user.slice/session-1.scope',
    ]);
  });

  test('are in each old hierarchy, whichever controllers share it', () => {
    const mounts = [
      '40 30 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct',
      '41 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory',
      '42 30 0:32 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd',
      '43 30 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw',
    ].join('\n');
    const own = '4:cpu,cpuacct:/a\n3:memory:/b/c\n1:name=systemd:/\n0::/\n9:pids:/nowhere\n';
    expect(cgroupFolders(own, mounts)).toEqual([
      '/sys/fs/cgroup/cpu,cpuacct/a',
      '/sys/fs/cgroup/memory/b/c',
      '/sys/fs/cgroup/systemd',
      '/sys/fs/cgroup/unified',
    ]);
  });

  test('of a container are below the part of the hierarchy that it sees', () => {
    const mounts = '40 30 0:30 /docker/id /sys/fs/cgroup rw - cgroup2 cgroup rw';
    expect(cgroupFolders('0::/docker/id/mine\n', mounts)).toEqual(['/sys/fs/cgroup/mine']);
    expect(cgroupFolders('0::/docker/other\n', mounts)).toEqual([]);
  });
});
