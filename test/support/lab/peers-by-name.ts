/** Two tenants whose networks have one subnet, each with a StatefulSet: what its pods are told by DNS of each other, and where that leads. */
import { expect } from 'vitest';
import { probe, type Endpoint } from '../../../src/lab/connectivity.ts';
import { outputInside } from '../../../src/lab/exec.ts';
import { SERVER_PORT } from '../../../src/lab/pods.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { LIMIT, type HostTenants } from './host-tenants.ts';
import { DNS, sliceObjects } from './matrix-tenants.ts';

/** Prints `<code> <addresses>` for each name: asks for A, by UDP or TCP, with EDNS. */
const PROGRAM = `
import os, socket, struct, sys
server, protocol = sys.argv[1:3]
for name in sys.argv[3:]:
    query = os.urandom(2) + b'\\1\\0\\0\\1\\0\\0\\0\\0\\0\\1'
    query += b''.join(bytes([len(one)]) + one.encode() for one in name.split('.')) + b'\\0' + struct.pack('!HH', 1, 1)
    end = len(query)
    query += b'\\0' + struct.pack('!HHIH', 41, 1232, 0, 0)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM if protocol == 'tcp' else socket.SOCK_DGRAM) as asking:
        asking.settimeout(2)
        asking.connect((server, 53))
        if protocol == 'tcp':
            asking.sendall(struct.pack('!H', len(query)) + query)
            answer = asking.makefile('rb')
            answer = answer.read(struct.unpack('!H', answer.read(2))[0])
        else:
            asking.send(query)
            answer = asking.recv(4096)
    found, at = [], end
    for _ in range(struct.unpack('!H', answer[6:8])[0]):
        found.append(socket.inet_ntoa(answer[at + 12:at + 16]))
        at += 12 + struct.unpack('!H', answer[at + 10:at + 12])[0]
    print(answer[3] & 15, *sorted(found))
`;

const TENANTS = ['blue', 'green'] as const;
const SET = 'peers';
const PODS = ['web', 'peer'] as const;
const nameOf = (tenant: string, ordinal: number): string =>
  `set-${ordinal}.${SET}.${tenant}.svc.cluster.local`;

/** Headless services of the tenants, with pods 'web' and 'peer' behind them. */
export const peerObjects = ({ onDefault }: Pick<HostTenants, 'onDefault'>): readonly object[] =>
  TENANTS.flatMap((tenant) => {
    const ports = [{ name: 'web', port: SERVER_PORT, protocol: 'TCP' }];
    const ends = PODS.map((pod) => {
      const { node = '', addresses = [] } = onDefault.get(`${tenant}/${pod}`) ?? {};
      return { pod: `${tenant}/${pod}`, node, addresses };
    });
    const [slice] = sliceObjects(`${tenant}/${SET}`, ends) as readonly {
      readonly metadata: { readonly labels: object };
      readonly endpoints: readonly object[];
    }[];
    const labels = { ...slice?.metadata.labels, 'service.kubernetes.io/headless': '' };
    return [
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { namespace: tenant, name: SET },
        spec: { clusterIP: 'None', clusterIPs: ['None'], ports },
      },
      {
        ...slice,
        metadata: { ...slice?.metadata, labels },
        ports,
        endpoints: slice?.endpoints.map((one, at) => ({ ...one, hostname: `set-${at}` })),
      },
    ];
  });

/** What the cluster's DNS says of them: addresses of the default network. */
export const peersOnDefault = ({
  onDefault,
}: Pick<HostTenants, 'onDefault'>): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(
    TENANTS.flatMap((tenant) =>
      PODS.map((pod, at) => [
        nameOf(tenant, at),
        onDefault.get(`${tenant}/${pod}`)?.addresses.slice(0, 1) ?? [],
      ]),
    ),
  );

/** `isAnswering`: the daemon does, for networks that ask for it. `others`: pods of networks that do not. */
export async function provePeers(
  lab: LabRecord,
  tenants: HostTenants,
  isAnswering: boolean,
  others: readonly string[],
): Promise<void> {
  const endOf = (pod: string): Endpoint => tenants.ends.get(pod) ?? expect.unreachable(pod);
  const told = async (pod: string, protocol: 'udp' | 'tcp'): Promise<readonly string[]> => {
    const names = TENANTS.flatMap((tenant) => PODS.map((_, at) => nameOf(tenant, at)));
    const program = ['python3', '-c', PROGRAM, DNS.ips[0], protocol, ...names];
    const inside = ['ip', 'netns', 'exec', endOf(pod).namespace, ...program];
    return (await outputInside(lab, inside)).trim().split('\n');
  };
  const onDefault = Object.values(peersOnDefault(tenants)).map(([address]) => `0 ${address}`);
  const own = TENANTS.map((tenant) =>
    PODS.map((pod) => `0 ${endOf(`${tenant}/${pod}`).addresses[0]}`),
  );
  const nothing = PODS.map(() => '3');
  for (const [n, tenant] of TENANTS.entries()) {
    // Once nobody listens each is asked once.
    if (!isAnswering) {
      expect(await told(`${tenant}/web`, 'udp')).toEqual(onDefault);
      continue;
    }
    const expected = TENANTS.flatMap((_, at) => (at === n ? own[at] : nothing));
    await expect
      .poll(() => told(`${tenant}/web`, 'udp'), { timeout: LIMIT, interval: 500 })
      .toEqual(expected);
    expect(await told(`${tenant}/web`, 'tcp')).toEqual(expected);
  }
  for (const other of others) expect(await told(other, 'udp')).toEqual(onDefault);
  if (!isAnswering) return;
  // The same addresses, of other pods.
  expect(own[0]?.toSorted()).toEqual(own[1]?.toSorted());
  const ways = TENANTS.map((tenant) => ({
    from: endOf(`${tenant}/web`).namespace,
    to: endOf(`${tenant}/peer`).addresses[0] ?? '',
    port: SERVER_PORT,
    ping: false,
  }));
  expect((await probe(lab, ways, 10)).map(({ answer }) => answer?.server)).toEqual(
    TENANTS.map((tenant) => `${tenant}/peer`),
  );
}
