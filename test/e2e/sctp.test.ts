/** SCTP with packets, on the default network and on primary ones of both layers, in both families, over two nodes: pods, services, node ports, policies, the way out; and clients that ask from one port all the time. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Endpoint } from '../../src/lab/connectivity.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { commandIn } from '../support/host/streams.ts';
import { whyNoLab } from '../support/lab/lab.ts';
import { nodeAddresses } from '../support/lab/matrix-tenants.ts';
import { podOn, SPACES, webService, webSlice, type Space } from '../support/lab/network-spaces.ts';
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
      return seen.flat().map((one) => one?.peer);
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
        return seen.flat().map((one) => one?.peer);
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
        return seen.flat().map((one) => one?.peer);
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

    describe('that is asked for from one port all the time', () => {
      /** Conditions of the pods behind the services, by name. */
      type Behind = Readonly<Partial<Record<'far' | 'other', object>>>;
      const READY = { ready: true };
      const ENDING = { ready: false, serving: true, terminating: true };
      const NOT_READY = { ready: false, serving: false, terminating: false };
      const anyPort = (): number => 30_000 + Math.floor(Math.random() * 20_000);
      const NOBODY = SPACES.flatMap(() => [undefined, undefined]);
      /** Of each space, by cluster IP from a pod and by node port from outside. */
      const served = (name: string): readonly string[] =>
        SPACES.flatMap((space) => Array.from({ length: 2 }, () => netnsOf(`${space}/${name}`)));
      let onDefault: readonly Endpoint[];

      const netnsOf = (pod: string): string => endOf(pod).namespace;
      const endOf = (pod: string): Endpoint => {
        const found = onDefault.find((end) => end.pod === pod);
        if (found === undefined) throw new Error(`no pod ${pod}`);
        return found;
      };
      const declareBehind = (behind: Behind): void =>
        lab.declare(
          'behind.yaml',
          SPACES.map((space) => {
            const ends = Object.entries(behind).map(([name, conditions]) => {
              const [one] = (webSlice(endOf(`${space}/${name}`)) as { endpoints: object[] })
                .endpoints;
              return { ...one, conditions };
            });
            return bySctp({ ...webSlice(endOf(`${space}/far`)), endpoints: ends });
          }),
        );
      /** Who answers, whatever is tracked of these ports. */
      const servers = async (
        sourcePort: number,
        seconds = 3,
      ): Promise<readonly (string | undefined)[]> => {
        const ask = (
          from: Where,
          to: string,
          port: number,
          n: number,
        ): ReturnType<typeof askSctp> =>
          askSctp(lab.record, from, [[to, port]], { seconds, sourcePort: sourcePort + n });
        const asked = await Promise.all(
          SPACES.flatMap((space, n) => [
            ask(within(near(space)), clusterIpOf(space), 80, n),
            ask(commandIn('ext'), nodeAddresses('n1')[0] ?? '', nodePortOf(space), n),
          ]),
        );
        return asked.flat().map((one) => one?.server);
      };

      let others: SctpServers;
      beforeAll(async () => {
        lab.withdraw('policies.yaml');
        lab.declare(
          'others.yaml',
          SPACES.map((space) => podOn('n2', space, 'other')),
        );
        await lab.tenants.settle();
        onDefault = await lab.tenants.endpoints('default');
        others = await SctpServers.start(
          lab.record,
          SPACES.map((space) => within(endOf(`${space}/other`))),
        );
        lab.declare(
          'services.yaml',
          SPACES.map((space) =>
            bySctp(
              webService(space, 'far', {
                clusterIp: clusterIpOf(space),
                nodePort: nodePortOf(space),
              }),
            ),
          ),
        );
      });
      afterAll(async () => {
        await others[Symbol.asyncDispose]();
      });

      test('a service before it has an endpoint is the first one that comes', async () => {
        await expect.poll(() => servers(anyPort(), 1), SOON).toEqual(NOBODY);
        expect(await servers(20_000, 1)).toEqual(NOBODY);
        const asking = servers(20_000, 60);
        declareBehind({ far: READY });
        expect(await asking).toEqual(served('far'));
      });

      test('an endpoint that is not ready any more, or ends, keeps who it knows; others are led to the next one', async () => {
        expect(await servers(21_000)).toEqual(served('far'));
        for (const conditions of [NOT_READY, ENDING]) {
          declareBehind({ far: conditions, other: READY });
          await expect.poll(() => servers(anyPort()), SOON).toEqual(served('other'));
          expect(await servers(21_000)).toEqual(served('far'));
        }
      });

      test('an endpoint that is gone leads to the next one', async () => {
        const asking = async (): Promise<readonly (string | undefined)[]> => servers(21_000);
        expect(await asking()).toEqual(served('far'));
        declareBehind({ other: READY });
        await expect.poll(asking, SOON).toEqual(served('other'));
      });

      test('a pod is closed by a policy that comes, and open again when it goes', async () => {
        const asking = async (): Promise<readonly (string | undefined)[]> => {
          const seen = await Promise.all(
            SPACES.map((space) =>
              askSctp(
                lab.record,
                within(near(space)),
                far(space).addresses.map((address) => [address, PORT + 1]),
                { sourcePort: 29_000 },
              ),
            ),
          );
          return seen.flat().map((one) => one?.peer);
        };
        const all = SPACES.flatMap((space) => near(space).addresses);
        await expect.poll(asking, SOON).toEqual(all);
        lab.declare('policies.yaml', SPACES.map(policy));
        await expect.poll(asking, SOON).toEqual(all.map(() => undefined));
        lab.withdraw('policies.yaml');
        await expect.poll(asking, SOON).toEqual(all);
      });
    });
  },
);
