/** By which networks nothing leaves a host, by what the kernel and the local Open_vSwitch database say of devices. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Node } from '../../../../src/api/types.ts';
import { DEFAULT_SETTINGS } from '../../../../src/model/settings.ts';
import { zoneFacts } from '../../../../src/model/zone/zone.ts';
import { WaysOutSource } from '../../../../src/node/egress-lease/ways-out-source.ts';
import { createLogger } from '../../../../src/process/logger.ts';
import { systemClock, type Clock } from '../../../../src/store/clock.ts';
import { openHost, type OpenHost } from '../../../../src/zone/host.ts';
import { node } from '../../../support/cluster/cluster.ts';
import { HOST_SETTINGS } from '../../../support/host/host-units.ts';
import { NetworkNamespace, whyNoNamespace } from '../../../support/host/network-namespace.ts';
import { OvsdbServer, runOvs, SCHEMAS } from '../../../support/ovsdb/ovsdb-server.ts';

const SOON = { timeout: 10_000, interval: 50 };
/** Real time, five times as fast: what has to last for a while does so soon. */
const FASTER = 5;
const clock: Clock = {
  now: () => systemClock.now(),
  monotonic: () => FASTER * systemClock.monotonic(),
  after: (milliseconds, run) => systemClock.after(milliseconds / FASTER, run),
};
const passed = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => {
    clock.after(milliseconds, resolve);
  });

const n1: Node = node('n1', {
  'k8s.ovn.org/l3-gateway-config': JSON.stringify({
    default: {
      mode: 'shared',
      'bridge-id': 'br-ex',
      'interface-id': 'br-ex_n1',
      'mac-address': '0a:58:ac:12:00:03',
      'ip-addresses': ['172.18.0.3/16'],
      'next-hops': ['172.18.0.1'],
    },
  }),
});

/** A bridge of the kernel stands for one of Open vSwitch, which its database has as well. */
describe.skipIf(whyNoNamespace !== undefined)(
  `ways out of a host${whyNoNamespace === undefined ? '' : ` (${whyNoNamespace})`}`,
  () => {
    const log = createLogger('silent');
    let server: OvsdbServer;
    let namespace: NetworkNamespace;
    let host: OpenHost;
    let source: WaysOutSource;
    let stop: AbortController;
    let ended: Promise<void>;
    let changes: number;

    const vsctl = (...words: string[]): Promise<string> =>
      runOvs('ovs-vsctl', [`--db=${server.remote}`, '--no-wait', '--timeout=10', ...words]);
    const down = (): object | undefined => source.down && Object.fromEntries(source.down);
    const problems = (): readonly string[] => source.problems().map(({ message }) => message);

    beforeEach(async () => {
      changes = 0;
      server = await OvsdbServer.start({ schema: join(SCHEMAS, 'vswitch.ovsschema') });
      await vsctl('init');
      await vsctl('add-br', 'br-ex', '--', 'add-port', 'br-ex', 'eth1');
      namespace = await NetworkNamespace.create();
      for (const line of [
        'link add name br-ex type bridge',
        'link set dev br-ex up',
        'address add 172.18.0.3/16 dev br-ex',
        'link add name eth1 type veth peer name wire1',
        'link set dev eth1 up',
        'link set dev wire1 up',
        'link add name eth2 type veth peer name wire2',
        'link set dev eth2 up',
        'link set dev wire2 up',
        'address add 10.9.0.3/24 dev eth2',
      ])
        namespace.ip(line);
      host = openHost({
        configuration: { tls: {}, host: HOST_SETTINGS, sysctlFolder: '/proc/sys' },
        openVswitch: server.remote,
        mayWrite: true,
        log,
        namespace: namespace.path,
        onWork: () => undefined,
        onExternalIds: () => source.openVswitchChanged(),
      });
      source = new WaysOutSource({
        node: 'n1',
        nodes: { get: () => n1 },
        settings: DEFAULT_SETTINGS,
        openVswitch: () =>
          host.openVswitch.unavailable() === undefined ? host.openVswitch.replica : undefined,
        namespace: host.namespace,
        monitor: host.monitor,
        log,
        onChange: () => (changes += 1),
      });
      stop = new AbortController();
      const facts = zoneFacts('n1', DEFAULT_SETTINGS);
      facts.requestedEgress.put('out', { name: 'out', addresses: ['10.9.0.50'] });
      ended = source.start(facts, clock, stop.signal);
      await expect.poll(down, SOON).toEqual({});
    });
    afterEach(async () => {
      stop.abort();
      await ended;
      await host[Symbol.asyncDispose]();
      namespace[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    });

    test('are down without carrier of the uplink, which is told, and up again with it for a while', async () => {
      namespace.ip('link set dev wire1 down');
      await expect
        .poll(down, SOON)
        .toEqual({ '172.18.0.0/16': 'uplink eth1 of br-ex has no carrier' });
      expect(problems()).toEqual([
        'uplink eth1 of br-ex has no carrier: nothing leaves this node by 172.18.0.0/16, and egress addresses there go to other nodes; see "ip link" and "ovs-vsctl show" on the node',
      ]);
      namespace.ip('link set dev eth1 down');
      await expect.poll(down, SOON).toEqual({ '172.18.0.0/16': 'uplink eth1 of br-ex is down' });
      namespace.ip('link set dev eth1 up');
      namespace.ip('link set dev wire1 up');
      await expect.poll(down, SOON).toEqual({});
      expect(problems()).toEqual([]);
    });

    test('are down without the uplink in the bridge, and without the bridge', async () => {
      await vsctl('del-port', 'br-ex', 'eth1');
      await expect.poll(down, SOON).toEqual({ '172.18.0.0/16': 'uplink eth1 is not in br-ex' });
      await vsctl('del-br', 'br-ex');
      await expect
        .poll(down, SOON)
        .toEqual({ '172.18.0.0/16': 'Open vSwitch has no bridge br-ex' });
    });

    test('of another card are down without its carrier, and are told where an egress address is in its network', async () => {
      namespace.ip('link set dev wire2 down');
      await expect.poll(down, SOON).toEqual({ '10.9.0.0/24': 'eth2 has no carrier' });
      expect(problems()).toEqual([
        'eth2 has no carrier: nothing leaves this node by 10.9.0.0/24, and egress addresses there go to other nodes; see "ip link" and "ovs-vsctl show" on the node',
      ]);
    });

    test('stay as they were where the wire is away for a moment, or nobody can tell', async () => {
      const before = changes;
      namespace.ip('link set dev wire1 down');
      await passed(700);
      namespace.ip('link set dev wire1 up');
      // As while ovs-vswitchd starts.
      namespace.ip('link delete dev br-ex');
      await passed(8000);
      expect(down()).toEqual({});
      // And without its database.
      namespace.ip('link set dev wire1 down');
      await server.stop();
      await passed(8000);
      expect(down()).toEqual({});
      expect(changes).toBe(before);
    });
  },
);
