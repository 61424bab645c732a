import { mkdirSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { podCgroup, PODS_CGROUP } from '../../../../src/node/nftables/cgroup-names.ts';
import { cgroupsBelow } from '../../../../src/node/nftables/cgroups.ts';
import { temporaryFolder } from '../../../support/ovsdb/ovsdb-server.ts';

const UID = '0f6b2c1e-58a4-4c0f-9a39-1d2e3f405162';
const SLICE = `kubepods-burstable-pod${UID.replaceAll('-', '_')}.slice`;

describe('cgroups by name', () => {
  let root: ReturnType<typeof temporaryFolder>;
  const make = (path: string): string => {
    mkdirSync(join(root.path, path), { recursive: true });
    return path;
  };
  const find = (name: string): string | undefined => cgroupsBelow(root.path).find(name)?.path;

  beforeEach(() => {
    root = temporaryFolder();
    writeFileSync(join(root.path, 'cgroup.controllers'), '');
  });
  afterEach(() => root[Symbol.dispose]());

  test.each([
    ['cgroupfs', `kubepods/burstable/pod${UID}`],
    ['systemd', `kubepods.slice/kubepods-burstable.slice/${SLICE}`],
    [
      "systemd, below a slice of kubelet's own",
      `kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-${SLICE}`,
    ],
  ])('that of a pod is found as %s has it', (_driver, path) => {
    make(`${path}/cri-containerd-1.scope`);
    make('kubepods/burstable/pod11111111-58a4-4c0f-9a39-1d2e3f405162');
    expect(find(podCgroup(UID) ?? '')).toBe(path);
  });

  test.each(['kubepods', 'kubepods.slice', 'kubelet.slice/kubelet-kubepods.slice'])(
    'that of all pods is found as %s',
    (path) => {
      make(`${path}/kubepods-burstable.slice/${SLICE}`);
      expect(find(PODS_CGROUP)).toBe(path);
    },
  );

  test('what a container calls so is not that of the pod', () => {
    make(`kubepods/pod11111111-58a4-4c0f-9a39-1d2e3f405162/pod${UID}`);
    expect(find(`pod${UID}`)).toBeUndefined();
  });

  test('one that was found is not looked for again until it is another one', () => {
    const cgroups = cgroupsBelow(root.path);
    const path = make(`kubepods/pod${UID}`);
    const before = cgroups.find(`pod${UID}`);
    expect(before).toEqual({ path, id: statSync(join(root.path, path)).ino });
    expect(cgroups.find(`pod${UID}`, before)).toBe(before);
    rmdirSync(join(root.path, path));
    expect(cgroups.find(`pod${UID}`, before)).toBeUndefined();
  });

  test('there is none without cgroup v2', () => {
    using old = temporaryFolder();
    mkdirSync(join(old.path, 'kubelet.service'));
    expect(cgroupsBelow(old.path).find('kubelet.service')).toBeUndefined();
  });

  test.each(['', 'a/b', 'a.b', '../x', '"'])('the uid %j names none', (uid) => {
    expect(podCgroup(uid)).toBeUndefined();
  });
});
