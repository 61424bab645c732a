import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Snapshot } from '../../../src/verify/snapshot.ts';
import { prove } from '../../../src/verify/verify.ts';
import { chosenWitnesses, numbersFrom } from '../../../src/verify/witnesses/choice.ts';
import {
  flowOf,
  microflowOf,
  readDatapathTrace,
  readOvnTrace,
} from '../../../src/verify/witnesses/traces.ts';
import { askWitnesses, type Tracers } from '../../../src/verify/witnesses/witnesses.ts';
import { connectedSnapshot } from '../../support/verify/connected-zone.ts';
import { INTERFACES, openVswitchOf } from '../../support/verify/interfaces.ts';
import { pod, snapshot } from '../../support/verify/small-zone.ts';
import { V4 as witness } from '../../support/verify/test-witnesses.ts';

const SNAPSHOT = snapshot();
const PROOF = prove(SNAPSHOT);

describe('packets that are asked about', () => {
  test('are the same for the same seed, and as many as asked for', () => {
    fc.assert(
      fc.property(fc.nat(0xffff_ffff), (seed) => {
        const all = chosenWitnesses(SNAPSHOT, PROOF, 30, seed);
        expect(all).toHaveLength(30);
        expect(chosenWitnesses(SNAPSHOT, PROOF, 30, seed)).toEqual(all);
      }),
      { numRuns: 20 },
    );
    const numbers = numbersFrom(1);
    const all = Array.from({ length: 1000 }, numbers);
    expect(Math.min(...all)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...all)).toBeLessThan(1);
  });

  test('are the same in whatever order a database has its rows', () => {
    const turned: Snapshot = {
      ...SNAPSHOT,
      northbound: new Map(
        [...SNAPSHOT.northbound].map(([table, rows]) => [table, rows.toReversed()]),
      ),
    };
    expect(chosenWitnesses(turned, prove(turned), 30, 1)).toEqual(
      chosenWitnesses(SNAPSHOT, PROOF, 30, 1),
    );
  });

  test('come from pods of this node, with their addresses, and go to their network and others', () => {
    const all = chosenWitnesses(SNAPSHOT, PROOF, 60, 7);
    expect(new Set(all.map(({ port }) => port))).toEqual(
      new Set(['blue.net_blue_a', 'green.net_green_a']),
    );
    for (const { address, mac } of all)
      expect([address, mac]).toEqual([witness.address, witness.mac]);
    expect(all.filter(({ network, toNetwork }) => network !== toNetwork).length).toBe(40);
  });

  test('hold no text of an object that is no name or address', () => {
    const evil = pod('blue', 'a', 3);
    const annotation = JSON.stringify({
      'blue/net': {
        ip_addresses: ['10.20.0.3" || 1 == 1/24'],
        mac_address: '0a:58:0a:14:00:03 && tcp',
        role: 'primary',
      },
    });
    const pods = [
      {
        ...evil,
        metadata: { ...evil.metadata, annotations: { 'k8s.ovn.org/pod-networks': annotation } },
      },
    ];
    const of = snapshot({ objects: { ...SNAPSHOT.objects, pods } });
    for (const one of chosenWitnesses(of, prove(of), 50, 1)) {
      expect(microflowOf(one)).toMatch(/^inport == "[\w./-]+" && eth\.src == [0-9a-f:]+ && /);
      expect(microflowOf(one)).not.toContain('||');
    }
  });

  test('are written as both programs read them', () => {
    expect(microflowOf(witness)).toBe(
      'inport == "blue.net_blue_a" && eth.src == 0a:58:0a:14:00:03 && eth.dst == 0a:58:0a:14:00:01 && ip4.src == 10.20.0.3 && ip4.dst == 10.80.0.3 && ip.ttl == 64 && tcp && tcp.src == 61000 && tcp.dst == 80',
    );
    expect(flowOf({ ...witness, address: 'fd01::3', toAddress: 'fd02::3' }, 7)).toBe(
      'tcp6,in_port=7,dl_src=0a:58:0a:14:00:03,dl_dst=0a:58:0a:14:00:01,ipv6_src=fd01::3,ipv6_dst=fd02::3,nw_ttl=64,tp_src=61000,tp_dst=80',
    );
  });
});

const OUT = (port: string): string => `
ingress(dp="blue_net_n1", inport="blue.net_blue_a")
---------------------------------------------------
 0. ls_in_check_port_sec (northd.c:9420): 1, priority 50, uuid 1a2b3c4d
    next;
27. ls_in_l2_lkup (northd.c:10340): eth.dst == 0a:58:0a:14:00:01, priority 50, uuid 5e6f7081
    outport = "${port}";
    output;

egress(dp="blue_net_n1", inport="blue.net_blue_a", outport="${port}")
----------------------------------------------------------------
 9. ls_out_apply_port_sec (northd.c:6111): 1, priority 0, uuid 99aa88bb
    output;
    /* output to "${port}", type "" */
`;
const DROPPED = OUT('x').split('27.')[0] ?? '';

test('answers of ovn-trace are read: where a packet came out, and what met it last', () => {
  expect(readOvnTrace(OUT('green.net_green_a'))).toEqual({
    outputs: [
      {
        port: 'green.net_green_a',
        line: '9. ls_out_apply_port_sec (northd.c:6111): 1, priority 0, uuid 99aa88bb',
      },
    ],
    datapaths: ['blue_net_n1'],
    last: '9. ls_out_apply_port_sec (northd.c:6111): 1, priority 0, uuid 99aa88bb',
  });
  expect(readOvnTrace(DROPPED).outputs).toEqual([]);
});

test('answers of ofproto/trace are read: ports of each bridge, and the key of tunnels', () => {
  const text = `
Flow: tcp,in_port=7

bridge("br-int")
----------------
 0. in_port=7, priority 100, cookie 0x1
    set_field:0x5->metadata
    resubmit(,8)
42. metadata=0x5, priority 100, cookie 0x2
    set_field:0xff0004/0xffffff->tun_id
    output:1
     -> output to kernel tunnel
65. reg15=0x3,metadata=0x5, priority 100, cookie 0x3
    output:3

    bridge("breth0")
    ----------------
         0. in_port=2, priority 100, cookie 0x4
            output:9
Final flow: unchanged
Datapath actions: 4
`;
  expect(
    readDatapathTrace(text).outputs.map(({ bridge, port, tunnelKey }) => [bridge, port, tunnelKey]),
  ).toEqual([
    ['br-int', '1', 0xff0004],
    ['br-int', '3', 0xff0004],
    ['breth0', '9', 0xff0004],
  ]);
});

describe('what programs say', () => {
  const asked = (logical: string, of = SNAPSHOT, physical?: string) => {
    const tracers: Tracers = {
      logical: () => Promise.resolve(logical),
      ...(physical === undefined ? {} : { physical: () => Promise.resolve(physical) }),
    };
    return askWitnesses(of, prove(of), { count: 30, seed: 5, tracers });
  };

  test('agrees where a packet is dropped, or comes out on its own network', async () => {
    const { sums, violations, undecided } = await asked(DROPPED);
    expect({ violations, undecided }).toEqual({ violations: [], undecided: [] });
    expect(sums).toEqual({
      seed: 5,
      packets: 30,
      logicalTraces: 30,
      physicalTraces: 0,
      apart: 20,
      dropped: 20,
      joined: 0,
      passed: 0,
    });
  });

  test('is a violation where it comes out on another one, with the line that sent it there', async () => {
    const { violations } = await asked(OUT('green.net_green_a'));
    const [first] = violations;
    expect(first).toMatchObject({
      check: 'witnesses',
      where: expect.stringMatching(/^ovn-trace from blue\.net_blue_a to /) as unknown,
      object: 'UserDefinedNetwork blue/net',
      networks: ['blue_net', 'green_net'],
    });
    expect(first?.what).toContain('priority 0, uuid 99aa88bb');
  });

  test('or at a port of nobody', async () => {
    expect((await asked(OUT('stranger'))).violations[0]?.what).toContain('stranger of nobody');
  });

  test('but not where an object joins the two', async () => {
    const { violations, sums } = await asked(OUT('green.net_green_a'), connectedSnapshot());
    expect(violations).toEqual([]);
    expect(sums).toMatchObject({ apart: 0, joined: 20 });
    expect((await asked(OUT('down-blue_net'), connectedSnapshot())).violations).toEqual([]);
    expect((await asked(OUT('down-blue_net'))).violations).not.toEqual([]);
  });

  test('of Open vSwitch is looked at where the pod has an interface', async () => {
    const openVswitch = openVswitchOf(INTERFACES);
    const answer =
      'bridge("br-int")\n----\n65. reg15=0x3, priority 100, cookie 0x3\n    output:8\n';
    const { violations, sums } = await asked(DROPPED, snapshot({ openVswitch }), answer);
    expect(sums.physicalTraces).toBe(30);
    const froms = new Set(violations.map(({ where }) => where.split(' ')[2]));
    expect(froms).toEqual(new Set(['blue.net_blue_a']));
    expect(violations[0]).toMatchObject({ networks: ['blue_net', 'green_net'] });
    expect(violations[0]?.where).toMatch(/^ofproto\/trace from/);
  });

  test('that could not be asked is told, and agrees with nothing', async () => {
    const { undecided, sums } = await askWitnesses(SNAPSHOT, PROOF, {
      count: 6,
      seed: 1,
      tracers: { logical: () => Promise.reject(new Error('spawn ovn-trace ENOENT')) },
    });
    expect(undecided).toEqual([
      expect.stringMatching(/^6 of 6 witnesses could not be asked: .*spawn ovn-trace ENOENT/),
    ]);
    expect(sums).toMatchObject({ logicalTraces: 0, apart: 0 });
  });
});
