/** SCTP with packets, on the default network and on primary ones of both layers, in both families, over two nodes: pods, services, node ports, policies, the way out. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Endpoint } from '../../src/lab/connectivity.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { commandIn } from '../support/host/streams.ts';
import { whyNoLab } from '../support/lab/lab.ts';
import { nodeAddresses } from '../support/lab/matrix-tenants.ts';
import { SPACES, webService, webSlice, type Space } from '../support/lab/network-spaces.ts';
import { askSctp, SctpServers, type Where } from '../support/lab/sctp-associations.ts';
import { SpaceLab } from '../support/lab/space-lab.ts';

const SOON = { timeout: 60_000, interval: 200 };
const PORT = 3868;
/** Last part of cluster IPs, and node ports. */
const NUMBER = { plain: 71, routed: 72, flat: 73 } as const;
const clusterIpOf = (space: Space): string => `10.96.8.${NUMBER[space]}`;
const nodePortOf = (space: Space): number => 30_800 + NUMBER[space];

/** With SCTP in place of TCP. */
const bySctp = (object: object): object =>
  JSON.parse(
    JSON.stringify(object, (key, value: unknown) =>
      key === 'ports'
        ? (value as readonly object[]).map((port) => ({ ...port, protocol: 'SCTP' }))
        : value,
    ),
  ) as object;

const policy = (namespace: Space): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { namespace, name: 'one-port' },
  spec: {
    podSelector: { matchLabels: { app: 'far' } },
    policyTypes: ['Ingress'],
    ingress: [{ ports: [{ protocol: 'SCTP', port: PORT }] }],
  },
});

describe.skipIf(whyNoLab !== undefined)(
  `SCTP${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    let lab: SpaceLab;
    let servers: SctpServers;

    const within = ({ namespace }: Endpoint): Where => ['ip', 'netns', 'exec', namespace];
    const near = (space: Space): Endpoint => lab.pod(space, 'near');
    const far = (space: Space): Endpoint => lab.pod(space, 'far');
    /** What the servers of `far` of each space saw of who asked them, or nothing. */
    const seenByFar = async (
      from: (space: Space) => Endpoint,
      port: number,
    ): Promise<readonly (string | undefined)[]> => {
      const seen = await Promise.all(
        SPACES.map((space) =>
          askSctp(
            lab.record,
            within(from(space)),
            far(space).addresses.map((address) => [address, port]),
          ),
        ),
      );
      return seen.flat();
    };

    beforeAll(async () => {
      lab = await SpaceLab.start('e2e-sctp');
      servers = await SctpServers.start(lab.record, [
        ...SPACES.map((space) => within(far(space))),
        commandIn('ext'),
      ]);
    }, 120_000);
    afterAll(async () => {
      await servers[Symbol.asyncDispose]();
      await lab[Symbol.asyncDispose]();
    });

    test('pods of a network reach each other, by their own addresses', async () => {
      await expect
        .poll(() => seenByFar(near, PORT), SOON)
        .toEqual(SPACES.flatMap((space) => near(space).addresses));
    });

    test('those of another network they do not', async () => {
      const others = (space: Space): Space => (space === 'routed' ? 'flat' : 'routed');
      expect(await seenByFar((space) => near(others(space)), PORT)).toEqual(
        SPACES.flatMap((space) => far(space).addresses.map(() => undefined)),
      );
    });

    test('they leave with the address of their node, and get their own answers', async () => {
      const outside = async (): Promise<readonly (string | undefined)[]> => {
        const to = Object.values(OUTSIDE).map((address) => [address, PORT] as const);
        const seen = await Promise.all(
          SPACES.map((space) => askSctp(lab.record, within(near(space)), to)),
        );
        return seen.flat();
      };
      await expect.poll(outside, SOON).toEqual(SPACES.flatMap(() => nodeAddresses('n1')));
    });

    test('a service is reached by its cluster IP, and by its node port from outside at either node', async () => {
      const onDefault = await lab.tenants.endpoints('default');
      lab.declare(
        'services.yaml',
        SPACES.flatMap((space) => {
          const behind = onDefault.find((end) => end.pod === `${space}/far`);
          if (behind === undefined) throw new Error(`no pod ${space}/far`);
          const ways = { clusterIp: clusterIpOf(space), nodePort: nodePortOf(space) };
          return [webService(space, 'far', ways), webSlice(behind)].map(bySctp);
        }),
      );
      const byClusterIp = async (): Promise<readonly (string | undefined)[]> => {
        const seen = await Promise.all(
          SPACES.map((space) =>
            askSctp(lab.record, within(near(space)), [[clusterIpOf(space), 80]]),
          ),
        );
        return seen.flat();
      };
      await expect.poll(byClusterIp, SOON).toEqual(SPACES.map((space) => near(space).addresses[0]));
      const nodePorts = (['n1', 'n2'] as const).flatMap((node) =>
        SPACES.map((space) => [nodeAddresses(node)[0] ?? '', nodePortOf(space)] as const),
      );
      // Which address the pod sees is that of a router, by gateway mode and node.
      await expect
        .poll(async () => {
          const seen = await askSctp(lab.record, commandIn('ext'), nodePorts);
          return seen.filter((one) => one === undefined);
        }, SOON)
        .toEqual([]);
    });

    test('a policy that names one port of SCTP lets that in, and no other one', async () => {
      lab.declare('policies.yaml', SPACES.map(policy));
      const all = SPACES.flatMap((space) => near(space).addresses);
      await expect.poll(() => seenByFar(near, PORT + 1), SOON).toEqual(all.map(() => undefined));
      expect(await seenByFar(near, PORT)).toEqual(all);
    });
  },
);
