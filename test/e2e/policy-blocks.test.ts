/** Blocks of addresses in NetworkPolicies, with exceptions, and hosts outside of the cluster: on the default network and on primary ones, by IPv4 and IPv6, from two nodes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { probe, type Probe } from '../../src/lab/connectivity.ts';
import { runInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { whyNoLab } from '../support/lab/lab.ts';
import { SPACES, type Space } from '../support/lab/network-spaces.ts';
import { SpaceLab } from '../support/lab/space-lab.ts';

const SOON = { timeout: 60_000, interval: 300 };
/** A second address of the host outside, by family. */
const SECOND = { v4: '172.18.0.101', v6: 'fd00:172:18::101' } as const;
const BLOCKS = { v4: '172.18.0.0/24', v6: 'fd00:172:18::/64' } as const;
const FAMILIES = ['v4', 'v6'] as const;
const HOSTS = { first: OUTSIDE, second: SECOND } as const;
type Host = keyof typeof HOSTS;

const single = (address: string): string => `${address}/${address.includes(':') ? 128 : 32}`;
/** The block of each family, without a host. */
const without = (host: Host): readonly object[] =>
  FAMILIES.map((family) => ({
    ipBlock: { cidr: BLOCKS[family], except: [single(HOSTS[host][family])] },
  }));
const only = (host: Host): readonly object[] =>
  FAMILIES.map((family) => ({ ipBlock: { cidr: single(HOSTS[host][family]) } }));

const policy = (namespace: Space, name: string, to: readonly object[]): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { namespace, name },
  spec: { podSelector: {}, policyTypes: ['Egress'], egress: [{ to }] },
});

describe.skipIf(whyNoLab !== undefined)(
  `blocks of policies${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    let lab: SpaceLab;
    const declare = (...rules: readonly (readonly object[])[]): void =>
      lab.declare(
        'policies.yaml',
        SPACES.flatMap((space) => rules.map((to, index) => policy(space, `out-${index}`, to))),
      );
    /** Whether each pod reaches the hosts outside, by space, pod and host; one entry where both families agree. */
    const reached = async (): Promise<readonly string[]> => {
      const ways = SPACES.flatMap((space) =>
        (['near', 'far'] as const).flatMap((pod) =>
          (Object.keys(HOSTS) as readonly Host[]).flatMap((host) =>
            FAMILIES.map((family) => ({ space, pod, host, family })),
          ),
        ),
      );
      const probes = ways.map(({ space, pod, host, family }): Probe => ({
        from: lab.pod(space, pod).namespace,
        to: HOSTS[host][family],
        port: SERVER_PORT,
        ping: false,
      }));
      const results = await probe(lab.record, probes, 3);
      return ways.flatMap(({ space, pod, host, family }, index) =>
        results[index]?.answer?.server === 'outside' ? [`${space} ${pod} ${host} ${family}`] : [],
      );
    };
    const all = (...hosts: readonly Host[]): readonly string[] =>
      SPACES.flatMap((space) =>
        ['near', 'far'].flatMap((pod) =>
          hosts.flatMap((host) => FAMILIES.map((family) => `${space} ${pod} ${host} ${family}`)),
        ),
      );

    beforeAll(async () => {
      lab = await SpaceLab.start('e2e-policy-blocks');
      for (const address of [`${SECOND.v4}/24`, `${SECOND.v6}/64`])
        await runInside(lab.record, `ip -n ext address add ${address} dev eth0 nodad`.split(' '));
      await serveOutward(lab.record);
    }, 180_000);
    afterAll(() => lab[Symbol.asyncDispose]());

    test('without a policy both hosts are reached', async () => {
      await expect.poll(reached, SOON).toEqual(all('first', 'second'));
    });

    test('a block reaches all of it but the exception', async () => {
      declare(without('first'));
      await expect.poll(reached, SOON).toEqual(all('second'));
      declare(without('second'));
      await expect.poll(reached, SOON).toEqual(all('first'));
    });

    test('what one rule leaves out another one may let through', async () => {
      declare(without('first'), only('first'));
      await expect.poll(reached, SOON).toEqual(all('first', 'second'));
      declare(only('second'));
      await expect.poll(reached, SOON).toEqual(all('second'));
    });

    test('without the policy both are reached again', async () => {
      lab.withdraw('policies.yaml');
      await expect.poll(reached, SOON).toEqual(all('first', 'second'));
    });
  },
);
