import { describe, expect, test } from 'vitest';
import type { HostPortRequests } from '../../../../src/model/read/host-ports.ts';
import type { hostPortTables } from '../../../../src/model/zone/host-ports.ts';
import { service, withServices } from '../../../support/zone/services.ts';
import { blue, bluePod, exampleZone, factsOf, type Zone } from '../../../support/zone/zones.ts';

const requests = (
  name: string,
  created: string,
  ports: HostPortRequests['ports'] = [{ protocol: 'TCP', hostPort: 8080, containerPort: 80 }],
): HostPortRequests => ({ namespace: 'blue', name, created, ports });
const second = {
  ...bluePod,
  pod: 'pod2',
  podUid: 'b7a2d6c0-0000-4000-8000-000000000002',
  macAddress: '0a:58:67:67:00:07',
  addresses: ['103.103.0.7/24'],
};
const zoneWith = (...hostPortRequests: readonly HostPortRequests[]): Zone => ({
  ...exampleZone,
  attachments: [bluePod, second],
  hostPortRequests,
});
const tablesOf = (zone: Zone): ReturnType<typeof hostPortTables> => factsOf(zone);
const atLoopback = [
  { protocol: 'TCP', hostPort: 8080, containerPort: 80, hostIp: '127.0.0.1' },
] as const;

describe('ports of the node', () => {
  test('lead to the address that the pod has on its primary network', () => {
    const { hostPorts } = tablesOf(zoneWith(requests('pod1', 'a')));
    expect(hostPorts.peek('blue', 'pod1')).toEqual({
      namespace: 'blue',
      pod: 'pod1',
      network: blue.name,
      addresses: { v4: '103.103.0.3' },
      ports: [
        {
          protocol: 'TCP',
          port: 8080,
          containerPort: 80,
          addresses: ['172.18.0.3'],
          loopback: [],
          alias: 8080,
        },
      ],
    });
  });

  test('of a pod without an address lead nowhere, and are its own all the same', () => {
    const tables = tablesOf(zoneWith(requests('later', 'a'), requests('pod1', 'b')));
    expect(tables.hostPorts.all()).toEqual([]);
    expect([...tables.hostPortProblems()]).toMatchObject([{ object: 'Pod blue/pod1' }]);
  });

  test('that two pods ask for are those of the older one; when it goes the other has them', () => {
    const both = [requests('pod1', 'b'), requests('pod2', 'a')] as const;
    const tables = tablesOf(zoneWith(...both));
    expect(tables.hostPorts.all().map(({ pod }) => pod)).toEqual(['pod2']);
    expect([...tables.hostPortProblems()]).toEqual([
      {
        object: 'Pod blue/pod1',
        message: expect.stringContaining('that of the older pod blue/pod2') as string,
      },
    ]);
    const after = tablesOf(zoneWith(both[0]));
    expect(after.hostPorts.all().map(({ pod }) => pod)).toEqual(['pod1']);
    expect([...after.hostPortProblems()]).toEqual([]);
  });

  const aliasesOf = ({ hostPorts }: ReturnType<typeof hostPortTables>): readonly unknown[] =>
    hostPorts.all().flatMap(({ ports }) => ports.map(({ alias }) => alias));
  const atNode = [{ ...atLoopback[0], hostIp: '172.18.0.3' }] as const;

  test('at different addresses are those of both pods, each with a number of its own where one address stands for all', () => {
    const loopbackFirst = [requests('pod1', 'a', atLoopback), requests('pod2', 'b', atNode)];
    const [first, other] = aliasesOf(tablesOf(zoneWith(...loopbackFirst)));
    expect(first).toBe(8080);
    expect(other).toBeGreaterThan(0);
    expect(other).not.toBe(8080);
    const nodeFirst = [requests('pod1', 'b', atLoopback), requests('pod2', 'a', atNode)];
    expect(aliasesOf(tablesOf(zoneWith(...nodeFirst)))).toEqual([expect.anything(), 8080]);
  });

  test('at different addresses that one pod asks for have numbers of their own', () => {
    const aliases = aliasesOf(
      tablesOf(zoneWith(requests('pod1', 'a', [...atLoopback, ...atNode]))),
    );
    expect(aliases[0]).toBe(8080);
    expect(new Set(aliases).size).toBe(2);
  });

  test('have no number that is the port of another pod, a node port, or the number of an older pod', () => {
    const pair = [requests('pod1', 'a', atLoopback), requests('pod2', 'b', atNode)] as const;
    const free = Number(aliasesOf(tablesOf(zoneWith(...pair)))[1]);
    const third = requests('third', 'c', [{ protocol: 'TCP', hostPort: free, containerPort: 80 }]);
    const asked = Number(aliasesOf(tablesOf(zoneWith(...pair, third)))[1]);
    expect([8080, free]).not.toContain(asked);
    const web = service('red/web', {
      type: 'NodePort',
      clusterIPs: ['10.96.1.1'],
      ports: [{ port: 80, nodePort: free }],
    });
    expect(aliasesOf(tablesOf(withServices(zoneWith(...pair), web)))[1]).toBe(asked);
    const many = Array.from({ length: 40 }, (_, index) => ({
      ...atLoopback[0],
      hostIp: `127.0.0.${index + 1}`,
    }));
    const all = aliasesOf(
      tablesOf(zoneWith(requests('pod1', 'a', many), requests('pod2', 'b', atNode))),
    );
    expect(new Set(all).size).toBe(41);
  });

  test('that are node ports of services are theirs', () => {
    const web = service('red/web', {
      type: 'NodePort',
      clusterIPs: ['10.96.1.1'],
      ports: [{ port: 80, nodePort: 8080 }],
    });
    const tables = tablesOf(withServices(zoneWith(requests('pod1', 'a')), web));
    expect(tables.hostPorts.all()).toEqual([]);
    expect([...tables.hostPortProblems()][0]?.message).toContain('node port of service red/web');
  });
});
