import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { nodes } from '../../../../src/api/kinds.ts';
import { resolveConfiguration } from '../../../../src/settings/configuration.ts';
import { openHost, type OpenHost } from '../../../../src/zone/host.ts';
import { createLogger } from '../../../../src/process/logger.ts';
import { openStore, type OpenObjects } from '../../../../src/settings/object-store.ts';
import type { RawOptions } from '../../../../src/settings/options.ts';
import { DEFAULT_SETTINGS } from '../../../../src/model/settings.ts';
import type { ExternalIds } from '../../../../src/node/chassis/plan.ts';
import { ChassisKeeper, chassisSteps } from '../../../../src/node/chassis/chassis-keeper.ts';
import { Informers } from '../../../../src/store/informers.ts';
import { node } from '../../../support/cluster/cluster.ts';
import { HOST_SETTINGS } from '../../../support/host/host-units.ts';
import { NetworkNamespace, whyNoNamespace } from '../../../support/host/network-namespace.ts';
import {
  OvsdbServer,
  runOvs,
  SCHEMAS,
  temporaryFolder,
} from '../../../support/ovsdb/ovsdb-server.ts';

const SOON = { timeout: 10_000, interval: 50 };
const FLAGS: RawOptions = { sb: 'unix:/var/run/ovn/ovnsb_db.sock' };

/** The local database, the kernel and the objects are real. */
describe.skipIf(whyNoNamespace !== undefined)('settings of ovn-controller on a node', () => {
  const log = createLogger('silent');
  let folder: ReturnType<typeof temporaryFolder>;
  let server: OvsdbServer;
  let namespace: NetworkNamespace;
  let objects: OpenObjects;
  let host: OpenHost;
  let informers: Informers;
  let keeper: ChassisKeeper;
  let running: AsyncDisposable;
  /** Called before a change is sent. */
  let interrupt: () => Promise<unknown>;
  let sent: number;

  const vsctl = (...words: string[]): Promise<string> =>
    runOvs('ovs-vsctl', [`--db=${server.remote}`, '--no-wait', '--timeout=10', ...words]);
  const set = (key: string, value: string): Promise<string> =>
    vsctl('set', 'Open_vSwitch', '.', `external_ids:${key}="${value}"`);
  const ids = async (): Promise<Readonly<Record<string, string>>> => {
    const found = host.externalIds();
    return 'unavailable' in found ? {} : Object.fromEntries(found.externalIds);
  };
  const value = async (key: string): Promise<string | undefined> => (await ids())[key];
  const context = (flags: RawOptions) => ({
    node: 'n1',
    settings: DEFAULT_SETTINGS,
    chassis: resolveConfiguration({ flags, environment: {} }).chassis,
    takesOver: false,
    database: {
      ...host.chassis,
      apply: async (found: ExternalIds, changes: Parameters<typeof host.chassis.apply>[1]) => {
        await interrupt();
        sent += 1;
        await host.chassis.apply(found, changes);
      },
    },
    nodes: informers.of(nodes),
    namespace: host.namespace,
  });

  const start = (flags: RawOptions = FLAGS): void => {
    const stop = new AbortController();
    informers = new Informers({ store: objects.objects, log });
    host = openHost({
      configuration: { tls: {}, host: HOST_SETTINGS, sysctlFolder: '/proc/sys' },
      openVswitch: server.remote,
      mayWrite: true,
      log,
      namespace: namespace.path,
      onWork: () => undefined,
      onExternalIds: () => keeper.hostChanged(),
    });
    keeper = new ChassisKeeper({ ...context(flags), log, signal: stop.signal });
    const ended = Promise.all([informers.run(stop.signal), keeper.run()]);
    running = {
      async [Symbol.asyncDispose]() {
        stop.abort();
        await ended;
        await host[Symbol.asyncDispose]();
      },
    };
  };

  beforeEach(async () => {
    interrupt = () => Promise.resolve();
    sent = 0;
    folder = temporaryFolder();
    mkdirSync(join(folder.path, 'manifests'));
    const known = {
      ...node('n1'),
      status: { addresses: [{ type: 'InternalIP', address: '172.18.0.4' }] },
    };
    writeFileSync(join(folder.path, 'manifests/nodes.yaml'), stringify(known));
    server = await OvsdbServer.start({ schema: join(SCHEMAS, 'vswitch.ovsschema') });
    await vsctl('init');
    await set('system-id', 'chassis-of-n1');
    namespace = await NetworkNamespace.create();
    objects = await openStore(
      {
        kind: 'manifests',
        manifests: join(folder.path, 'manifests'),
        state: join(folder.path, 'state'),
      },
      { dryRun: false },
    );
    for (const line of [
      'link add name eth0 type bridge',
      'link set dev eth0 up',
      'address add 172.18.0.3/16 dev eth0',
      'route add default via 172.18.0.1',
    ])
      namespace.ip(line);
  });
  afterEach(async () => {
    await running[Symbol.asyncDispose]();
    await objects[Symbol.asyncDispose]();
    namespace[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('are all made on a node that has none, once, and follow its address', async () => {
    start();
    await expect.poll(ids, SOON).toMatchObject({
      'system-id': 'chassis-of-n1',
      'ovn-is-interconn': 'true',
      'ovn-encap-type': 'geneve',
      'ovn-encap-ip': '172.18.0.3',
      'ovn-remote': 'unix:/var/run/ovn/ovnsb_db.sock',
      'ovn-monitor-all': 'true',
    });
    expect(await value('ovn-ofctrl-wait-before-clear')).toBeUndefined();
    keeper.confirmed();
    await expect.poll(() => value('ovn-ofctrl-wait-before-clear'), SOON).toBe('8000');
    expect(keeper.problems()).toEqual([]);
    // A switch that starts anew has no flows: who waits keeps none.
    keeper.switchLost();
    await expect.poll(() => value('ovn-ofctrl-wait-before-clear'), SOON).toBe('0');

    // The Node has named another address from the beginning, which the host has from now on.
    namespace.ip('address add 172.18.0.4/16 dev eth0');
    keeper.hostChanged();
    await expect.poll(() => value('ovn-encap-ip'), SOON).toBe('172.18.0.4');

    // A daemon that is started anew finds all right.
    await running[Symbol.asyncDispose]();
    const before = await vsctl('get', 'Open_vSwitch', '.', 'external_ids');
    sent = 0;
    start();
    keeper.switchLost();
    await host.openVswitch.ready(AbortSignal.timeout(10_000));
    keeper.hostChanged();
    await keeper.caughtUp(AbortSignal.timeout(10_000));
    expect(sent).toBe(0);
    expect(await vsctl('get', 'Open_vSwitch', '.', 'external_ids')).toBe(before);
  });

  test('that somebody makes stay, also when he is quicker, and ours come back', async () => {
    interrupt = async () => {
      interrupt = () => Promise.resolve();
      await set('ovn-encap-ip', '10.9.0.3');
    };
    await set('ovn-monitor-all', 'false');
    start();
    await expect.poll(() => value('ovn-is-interconn'), SOON).toBe('true');
    expect(await ids()).toMatchObject({ 'ovn-encap-ip': '10.9.0.3', 'ovn-monitor-all': 'false' });
    expect(keeper.notes().map(({ message }) => message)).toEqual([
      expect.stringContaining('external_ids:ovn-monitor-all'),
    ]);

    await set('ovn-is-interconn', 'false');
    await expect.poll(() => keeper.problems()[0]?.message, SOON).toContain('no tunnels to other');
    expect(await value('ovn-is-interconn')).toBe('false');
    await vsctl('remove', 'Open_vSwitch', '.', 'external_ids', 'ovn-is-interconn');
    await expect.poll(() => value('ovn-is-interconn'), SOON).toBe('true');
    await expect.poll(() => keeper.problems(), SOON).toEqual([]);

    // What is taken back is what Heddle made.
    await running[Symbol.asyncDispose]();
    host = openHost({
      configuration: { tls: {}, host: HOST_SETTINGS, sysctlFolder: '/proc/sys' },
      openVswitch: server.remote,
      mayWrite: true,
      log,
      onWork: () => undefined,
    });
    await host.openVswitch.ready(AbortSignal.timeout(10_000));
    expect(host.chassisRemovals()).toContain('remove external_ids:ovn-remote');
    await host.removeChassisSettings();
    await expect.poll(ids, SOON).toEqual({
      'system-id': 'chassis-of-n1',
      'ovn-encap-ip': '10.9.0.3',
      'ovn-monitor-all': 'false',
    });
    await host[Symbol.asyncDispose]();
    running = { [Symbol.asyncDispose]: () => Promise.resolve() };
  });

  test('wait for an address in the subnet that is asked for, and are shown beforehand', async () => {
    start({ ...FLAGS, 'encap-ip': '10.9.0.0/16' });
    await expect
      .poll(() => keeper.problems(), SOON)
      .toEqual([
        { object: 'Node n1', message: '--encap-ip: the host has no address in 10.9.0.0/16' },
      ]);
    expect(await value('ovn-is-interconn')).toBe('true');
    expect(await value('ovn-encap-ip')).toBeUndefined();
    namespace.ip('address add 10.9.0.3/24 dev eth0');
    expect(await chassisSteps(context({ ...FLAGS, 'encap-ip': '10.9.0.0/16' }), 'none')).toEqual([
      'set external_ids:ovn-encap-ip to "10.9.0.3"',
    ]);
    keeper.hostChanged();
    await expect.poll(() => value('ovn-encap-ip'), SOON).toBe('10.9.0.3');
    expect(keeper.problems()).toEqual([]);
  });
});
