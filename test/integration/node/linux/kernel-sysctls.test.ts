/** Settings of the kernel as a container has them that is not privileged: /proc/sys is read only, that of the host's network is below another folder. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ownFolder } from '../../../support/run/left-behind.ts';
import { whyNoNamespace } from '../../../support/host/network-namespace.ts';

const MODULE = join(import.meta.dirname, '../../../../src/node/linux/kernel-sysctls.ts');

/** Mounts as a runtime makes them, in namespaces of their own, and runs the script there. `$0` is the folder. */
const CONTAINER = [
  'mount --make-rprivate /',
  'mount --bind /proc/sys/net "$0/net"',
  'mount --bind /proc/sys /proc/sys',
  'mount -o remount,bind,ro /proc/sys',
  'exec "$@"',
].join(' && ');

describe.skipIf(whyNoNamespace !== undefined)('settings in a container', () => {
  let folder: string;
  beforeAll(() => {
    folder = ownFolder('heddle-sysctls');
    mkdirSync(join(folder, 'net'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const run = (root: string, script: string): unknown =>
    JSON.parse(
      execFileSync(
        'unshare',
        [
          '--mount',
          '--net',
          'sh',
          '-c',
          CONTAINER,
          folder,
          process.execPath,
          '--input-type=module',
          '--eval',
          `import { sysctlsBelow } from ${JSON.stringify(MODULE)};
           const sysctls = sysctlsBelow(${JSON.stringify(root)});
           console.log(JSON.stringify(${script}));`,
        ],
        { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
      ),
    );
  const KEY = 'net/ipv4/conf/lo/rp_filter';

  test('are written by the folder that has them for writing, in the network namespace of who writes', () => {
    const script = `[sysctls.write('${KEY}', '2') ?? null, sysctls.read('${KEY}'), sysctls.read('net/nothing') ?? null]`;
    expect(run(folder, script)).toEqual([null, '2', null]);
  });

  test('that can’t be written say what would do', () => {
    expect(run('/proc/sys', `sysctls.write('${KEY}', '2')`)).toMatch(
      /read-only file system.*rp_filter.*\/proc\/sys\/net below another folder.*sysctl-folder/,
    );
  });

  test('are not looked for in a folder without them', () => {
    expect(() => run(join(folder, 'net'), '1')).toThrow();
  });
});
