import { describe, expect, test } from 'vitest';
import {
  CONNECTIONS,
  staleConnections,
  type ConnectionRow,
} from '../../../../src/node/conntrack/service-connections.ts';
import type { HostPortRequests } from '../../../../src/model/read/host-ports.ts';
import { hostUnits } from '../../../support/host/host-units.ts';
import { service, slice, withServices, type EndpointText } from '../../../support/zone/services.ts';
import { bluePod, dualZone } from '../../../support/zone/zones.ts';

const DNS = {
  type: 'NodePort',
  clusterIPs: ['10.96.0.10', 'fd00:10:96::a'],
  ports: [
    { name: 'udp', protocol: 'UDP', port: 53, nodePort: 30_053 },
    { name: 'tcp', protocol: 'TCP', port: 53, nodePort: 30_053 },
  ],
};
const SCTP_PORT = [{ name: 's1', protocol: 'SCTP', port: 36_412 }];
const PORTS = [
  { name: 'udp', protocol: 'UDP', port: 5353 },
  { name: 'tcp', protocol: 'TCP', port: 5353 },
];

const rowsOf = (
  spec: object,
  endpoints: readonly EndpointText[],
  ports: readonly Readonly<Record<string, unknown>>[] = PORTS,
): readonly ConnectionRow[] =>
  hostUnits(
    withServices(
      dualZone,
      service('kube-system/dns', { ...DNS, ...spec }),
      slice('kube-system/dns', endpoints, { ports }),
    ),
  )
    .flatMap(({ rows }) => rows)
    .filter((row): row is ConnectionRow => row.database === CONNECTIONS && row.table === 'port');
/** `udp 10.96.0.10:53`, or `udp 10.96.0.10:53 at 10.244.0.5` where only what one endpoint answers is stale. */
const stale = (before: readonly ConnectionRow[], after: readonly ConnectionRow[]): string[] =>
  staleConnections(before, after).map(
    ({ protocol, destination: { address, port }, endpoint }) =>
      `${protocol} ${address} ${port}${endpoint === undefined ? '' : ` at ${endpoint}`}`,
  );

const HERE = '10.244.0.5 on ovn-worker';
const THERE = '10.244.1.5 on ovn-worker2';
const both = rowsOf({}, [HERE, THERE]);

describe('connections to ports of the node that a pod has', () => {
  const portRows = (...ports: HostPortRequests['ports']): readonly ConnectionRow[] =>
    hostUnits({
      ...dualZone,
      attachments: [{ ...bluePod, addresses: ['103.103.0.3/24'] }],
      hostPortRequests: [{ namespace: 'blue', name: 'pod1', created: '', ports }],
    })
      .flatMap(({ rows }) => rows)
      .filter((row): row is ConnectionRow => row.database === CONNECTIONS && row.table === 'port');

  test('are stale when the pod goes, whatever its protocol', () => {
    const before = portRows(
      { protocol: 'TCP', hostPort: 8080, containerPort: 80 },
      { protocol: 'UDP', hostPort: 53, containerPort: 53, hostIp: '127.0.0.1' },
    );
    expect(stale(before, [])).toEqual([
      'tcp 172.18.0.3 8080',
      'tcp 10.96.0.0 8080',
      'udp 127.0.0.1 53',
      'udp 10.96.0.0 53',
    ]);
    expect(stale(before, before)).toEqual([]);
  });
});

describe('connections of a service', () => {
  test('are stale when the service goes: at its cluster, external and node addresses, of every protocol', () => {
    expect(stale(rowsOf({ externalIPs: ['5.5.5.5'] }, [HERE]), [])).toEqual(
      ['udp', 'tcp'].flatMap((protocol) => [
        `${protocol} 10.96.0.10 53`,
        `${protocol} fd00:10:96::a 53`,
        `${protocol} 5.5.5.5 53`,
        `${protocol} 172.18.0.3 30053`,
        `${protocol} fc00:f853::3 30053`,
      ]),
    );
  });

  test('that a UDP endpoint answered are stale when it goes, on whatever node it was', () => {
    expect(stale(both, rowsOf({}, [HERE]))).toEqual([
      'udp 10.96.0.10 53 at 10.244.1.5',
      'udp 172.18.0.3 30053 at 10.244.1.5',
    ]);
  });

  test('that a UDP endpoint answered at another port are stale', () => {
    const at = (port: number): readonly ConnectionRow[] =>
      hostUnits(
        withServices(
          dualZone,
          service('kube-system/dns', DNS),
          slice('kube-system/dns', [HERE], {
            ports: PORTS.map((one) => ({ ...one, port })),
          }),
        ),
      )
        .flatMap(({ rows }) => rows)
        .filter(
          (row): row is ConnectionRow => row.database === CONNECTIONS && row.table === 'port',
        );
    expect(stale(at(5353), at(5354))).toEqual([
      'udp 10.96.0.10 53 at 10.244.0.5',
      'udp 172.18.0.3 30053 at 10.244.0.5',
    ]);
  });

  test('to an address that a UDP service loses are stale', () => {
    const with5 = rowsOf({ externalIPs: ['5.5.5.5'] }, [HERE]);
    expect(stale(with5, rowsOf({}, [HERE]))).toEqual(['udp 5.5.5.5 53']);
  });

  test('that a client began by UDP before there was an endpoint are stale when one comes', () => {
    const begun = ['udp 10.96.0.10 53 at 10.96.0.10', 'udp 172.18.0.3 30053 at 172.18.0.3'];
    expect(stale([], both)).toEqual(begun);
    expect(stale(rowsOf({}, []), both)).toEqual(begun);
    expect(stale(rowsOf({}, [HERE]), rowsOf({ externalIPs: ['5.5.5.5'] }, [HERE]))).toEqual([
      'udp 5.5.5.5 53 at 5.5.5.5',
    ]);
  });

  test('to a service that another network has, too, are those of the endpoints that went with a network', () => {
    const gone = staleConnections(both, [], () => true);
    expect(new Set(gone.map(({ protocol }) => protocol))).toEqual(new Set(['udp']));
    expect(new Set(gone.map(({ endpoint }) => endpoint))).toEqual(
      new Set(['10.244.0.5', '10.244.1.5']),
    );
  });

  test('that an ending endpoint of this node answers, since the service keeps to the node, stay until it goes', () => {
    const ending = {
      addresses: ['10.244.0.5'],
      nodeName: 'ovn-worker',
      conditions: { ready: false, serving: true, terminating: true },
    };
    for (const spec of [{ internalTrafficPolicy: 'Local' }, { externalTrafficPolicy: 'Local' }]) {
      const fresh = rowsOf(spec, [HERE, THERE]);
      const fallenBack = rowsOf(spec, [ending, THERE]);
      expect(stale(fresh, fallenBack)).toEqual([]);
      expect(stale(fallenBack, rowsOf(spec, [THERE]))).toEqual([
        'udp 10.96.0.10 53 at 10.244.0.5',
        'udp 172.18.0.3 30053 at 10.244.0.5',
      ]);
    }
  });

  test('that a client began by UDP are stale when the first endpoint of the node comes, where the service keeps to it', () => {
    const spec = { externalTrafficPolicy: 'Local' };
    expect(stale(rowsOf(spec, [THERE]), rowsOf(spec, [HERE, THERE]))).toEqual([
      'udp 10.96.0.10 53 at 10.96.0.10',
      'udp 172.18.0.3 30053 at 172.18.0.3',
    ]);
    expect(stale(rowsOf({}, [THERE]), rowsOf({}, [HERE, THERE]))).toEqual([]);
  });

  describe('of SCTP', () => {
    const [address = '', nodeName = ''] = HERE.split(' on ');
    const inState = (conditions: object): EndpointText => ({
      addresses: [address],
      nodeName,
      conditions,
    });
    const rows = (...endpoints: EndpointText[]): readonly ConnectionRow[] =>
      rowsOf({ type: 'ClusterIP', ports: SCTP_PORT }, endpoints, SCTP_PORT);

    test('are stale when no slice has the endpoint any more, and before that stay, whether it takes others or not', () => {
      const unready = rows(inState({ ready: false }), THERE);
      const ending = rows(inState({ ready: false, serving: true, terminating: true }), THERE);
      expect(stale(rows(HERE, THERE), unready)).toEqual([]);
      expect(stale(unready, ending)).toEqual([]);
      expect(stale(ending, rows(THERE))).toEqual(['sctp 10.96.0.10 36412 at 10.244.0.5']);
      expect(stale(rows(HERE), rows())).toEqual(['sctp 10.96.0.10 36412 at 10.244.0.5']);
    });

    test('that a client began before one was ready are stale when it is', () => {
      const begun = ['sctp 10.96.0.10 36412 at 10.96.0.10'];
      expect(stale([], rows(HERE))).toEqual(begun);
      expect(stale(rows(inState({ ready: false })), rows(HERE))).toEqual(begun);
      expect(stale(rows(HERE), rows(HERE, THERE))).toEqual([]);
    });

    test('are stale when the service goes', () => {
      expect(stale(rows(HERE), [])).toEqual(['sctp 10.96.0.10 36412', 'sctp fd00:10:96::a 36412']);
    });
  });

  test('stay with an endpoint that is for clients elsewhere from now on', () => {
    const [at = '', nodeName = ''] = HERE.split(' on ');
    const [there = ''] = THERE.split(' on ');
    const hints = (name: string): object => ({ hints: { forNodes: [{ name }] } });
    const hinted = rowsOf({}, [
      { addresses: [at], nodeName, ...hints(nodeName) },
      { addresses: [there], ...hints('ovn-worker2') },
    ]);
    expect(stale(both, hinted)).toEqual([]);
    expect(stale(hinted, rowsOf({}, [HERE]))).toContain('udp 10.96.0.10 53 at 10.244.1.5');
  });

  test('are not when endpoints come beside others, or nothing changes', () => {
    expect(stale(rowsOf({}, [HERE]), both)).toEqual([]);
    expect(stale(both, both)).toEqual([]);
    expect(stale([], rowsOf({}, []))).toEqual([]);
  });
});
