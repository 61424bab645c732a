/** Names in EgressFirewalls of tenants whose hosts have VRFs: what their pods are told by DNS, and where their first packets get to. */
import { expect } from 'vitest';
import { startDaemon } from '../../../src/lab/daemons.ts';
import { runInside } from '../../../src/lab/exec.ts';
import { SERVER_PORT } from '../../../src/lab/pods.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { connectedByName } from './asked-names.ts';
import { sayNames, startClusterDns } from './cluster-dns.ts';
import { LIMIT, NODE, type HostTenants } from './host-tenants.ts';
import { stopDaemon } from './lab-daemons.ts';
import { systemServices } from './matrix-tenants.ts';

const SOON = { timeout: LIMIT, interval: 500 };
/** More addresses of the host outside, which names are known by in turn. */
const [never = '', first = '', second = '', third = ''] = [201, 202, 203, 204].map(
  (last) => `172.18.0.${last}`,
);
const EXACT = 'www.example.org';
const OF_WILDCARD = 'a.apps.example.org';
const OTHER = 'example.net';

const firewall = (namespace: string): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressFirewall',
  metadata: { namespace, name: 'default' },
  spec: {
    egress: [
      { type: 'Allow', to: { dnsName: EXACT } },
      { type: 'Allow', to: { dnsName: '*.apps.example.org' } },
      { type: 'Deny', to: { cidrSelector: '0.0.0.0/0' } },
      { type: 'Deny', to: { cidrSelector: '::/0' } },
    ],
  },
});

export interface NamesOnNetworks {
  readonly lab: LabRecord;
  readonly tenants: HostTenants;
  /** `<namespace>/<pod>` of primary networks. */
  readonly pods: readonly string[];
  /** Addresses of the DNS service that pods ask. */
  readonly servers: readonly string[];
  /** Of the daemon, which is killed. */
  readonly daemonArguments: readonly string[];
  /** What the cluster's DNS says besides. */
  readonly known?: Readonly<Record<string, readonly string[]>>;
  /** Looks at what else pods are told, while the daemon answers and while it is gone. */
  readonly also?: (isAnswering: boolean) => Promise<void>;
}

/** What pods are told is in force before they are; once the daemon is gone they are told at once, and nothing more is. */
export async function proveNamesOnNetworks(proof: NamesOnNetworks): Promise<void> {
  const { lab, tenants, pods, servers, daemonArguments, also = () => Promise.resolve() } = proof;
  const say = (known: Readonly<Record<string, string>>): Promise<void> =>
    sayNames(
      lab,
      Object.fromEntries(
        Object.entries({ ...proof.known, ...known }).map(([name, addresses]) => [
          name,
          { addresses: [addresses].flat(), ttl: 0 },
        ]),
      ),
    );
  for (const address of [never, first, second, third])
    await runInside(lab, `ip -n ext address add ${address}/24 dev eth0`.split(' '));
  const dns = startClusterDns(lab, tenants);
  await say({ [EXACT]: first, [OF_WILDCARD]: second });
  const namespaces = [...new Set(pods.map((key) => key.split('/')[0] ?? ''))];
  tenants.write('firewalls.yaml', namespaces.map(firewall));

  const reached = async (names: readonly string[], tries?: number): Promise<object[]> => {
    const found: object[] = [];
    for (const key of pods)
      for (const server of servers) {
        const from = tenants.ends.get(key) ?? expect.unreachable(`${key} has no address`);
        found.push(await connectedByName(lab, from, server, names, SERVER_PORT, tries));
      }
    return found;
  };
  const everywhere = (expected: object): object[] =>
    pods.flatMap(() => servers.map(() => expected));
  const names = [EXACT, OF_WILDCARD];
  await expect
    .poll(() => reached(names), SOON)
    .toEqual(everywhere({ [EXACT]: { [first]: true }, [OF_WILDCARD]: { [second]: true } }));
  for (const [exact, ofWildcard] of [
    [second, third],
    [third, first],
  ] as const) {
    await say({ [EXACT]: exact, [OF_WILDCARD]: ofWildcard, [OTHER]: never });
    expect(await reached([...names, OTHER])).toEqual(
      everywhere({
        [EXACT]: { [exact]: true },
        [OF_WILDCARD]: { [ofWildcard]: true },
        [OTHER]: { [never]: false },
      }),
    );
  }
  await also(true);
  await stopDaemon(lab, NODE, 'kill');
  await also(false);
  await say({ [EXACT]: never, [OF_WILDCARD]: first });
  // Each is asked once.
  expect(await reached(names, 1)).toEqual(
    everywhere({ [EXACT]: { [never]: false }, [OF_WILDCARD]: { [first]: true } }),
  );
  await startDaemon(lab, NODE, daemonArguments);
  await expect
    .poll(() => reached(names), SOON)
    .toEqual(everywhere({ [EXACT]: { [never]: true }, [OF_WILDCARD]: { [first]: true } }));
  tenants.write('firewalls.yaml', []);
  await also(true);
  tenants.write('services.yaml', systemServices(dns));
}
