import { beforeEach, describe, expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import type { Attachment } from '../../../src/model/model.ts';
import type { ZoneFacts } from '../../../src/model/zone/zone.ts';
import { announcementOf } from '../../../src/node/announcer/address-announcements.ts';
import type { Change } from '../../../src/store/informer.ts';
import { announceArrivals } from '../../../src/zone/machine-arrivals.ts';
import { ManualClock } from '../../support/run/manual-clock.ts';
import {
  bluePod,
  exampleZone,
  factsOf,
  layer2Secondary,
  localnet,
  type ZoneNetwork,
} from '../../support/zone/zones.ts';

const MAC = '0a:58:0a:32:01:03';
const NODE = 'ovn-worker';
const ARRIVED = 'kubevirt.io/migration-target-ready-timestamp';

/** A pod of the machine on a network. */
const attachmentOf = (network: ZoneNetwork, more: Partial<Attachment>): Attachment => ({
  ...bluePod,
  network: network.name,
  nadKey: network.nads[0] ?? '',
  role: 'secondary',
  macAddress: MAC,
  addresses: ['10.50.1.3/16'],
  tunnelId: 12,
  ...more,
});

const podOf = (annotations: Readonly<Record<string, string>>, nodeName = NODE): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    namespace: 'blue',
    name: 'to',
    labels: { 'kubevirt.io': 'virt-launcher' },
    annotations: { 'kubevirt.io/domain': 'vm', ...annotations },
  },
  spec: { nodeName },
  status: { phase: 'Running' },
});

describe('a virtual machine that moves to this node', () => {
  let clock: ManualClock;
  let sent: string[];
  let stop: AbortController;

  /** Announces what comes to a pod of which the facts say whether it has the machine. */
  function told(
    network: ZoneNetwork,
    change: Pick<Change<Pod>, 'before' | 'after'>,
    {
      isOpen = true,
      times = 1,
      send,
    }: { isOpen?: boolean; times?: number; send?: () => Promise<void> } = {},
  ): void {
    const machine = { name: 'vm', hasArrived: isOpen };
    const facts: ZoneFacts = factsOf({
      ...exampleZone,
      networks: [...exampleZone.networks, network],
      attachments: [attachmentOf(network, { pod: 'to', created: '2026-01-02T00:00:00Z', machine })],
      remoteAttachments: [
        attachmentOf(network, {
          pod: 'from',
          node: 'ovn-worker2',
          podUid: 'b7a2d6c0-0000-4000-8000-000000000002',
          machine: { name: 'vm', hasArrived: false },
        }),
      ],
    });
    announceArrivals({
      facts,
      pods: {
        onChange: (handler) => {
          for (let time = 0; time < times; time += 1) handler({ key: 'blue/to', ...change });
          return () => undefined;
        },
      },
      send:
        send ??
        (async (port, frame) => {
          sent.push(`${port} ${frame}`);
        }),
      clock,
      log: { warn: (_fields, text) => sent.push(text) },
      signal: stop.signal,
    });
  }

  const arrives = { before: podOf({}), after: podOf({ [ARRIVED]: 'now' }) };
  const frame = announcementOf('10.50.1.3', MAC, 0);

  beforeEach(() => {
    clock = new ManualClock();
    sent = [];
    stop = new AbortController();
  });

  const after = async (milliseconds: number): Promise<readonly string[]> => {
    await clock.advance(milliseconds);
    return sent;
  };

  test('is announced on a physical network, again and again for a second, as its own interface would', async () => {
    told(localnet, arrives);
    expect(await after(49)).toEqual([]);
    expect(await after(1)).toEqual([`blue.ln_blue_to ${frame}`]);
    expect(await after(10_000)).toHaveLength(6);
  });

  test('is not announced where no switch has to learn it, while its port is not open, or when the daemon ends', async () => {
    told({ ...layer2Secondary, nads: ['blue/l2'] }, arrives);
    told(localnet, arrives, { isOpen: false });
    expect(await after(10_000)).toEqual([]);
    told(localnet, arrives);
    stop.abort();
    expect(await after(10_000)).toEqual([]);
  });

  test('is announced by the node that it comes to alone, once it has arrived', async () => {
    const elsewhere = podOf({ [ARRIVED]: 'now' }, 'ovn-worker2');
    told(localnet, { before: podOf({}, 'ovn-worker2'), after: elsewhere });
    told(localnet, { before: undefined, after: arrives.after });
    told(localnet, { before: arrives.after, after: arrives.after });
    told(localnet, { before: arrives.before, after: arrives.before });
    expect(await after(10_000)).toEqual([]);
  });

  test('that says again and again that it has arrived is not announced more often', async () => {
    told(localnet, arrives, { times: 3 });
    expect(await after(10_000)).toHaveLength(6);
  });

  test('is told of in the log when it can’t be announced', async () => {
    told(localnet, arrives, { send: () => Promise.reject(new Error('no answer')) });
    expect((await after(50))[0]).toMatch(/is not announced; OVN does so a second later/);
  });
});
