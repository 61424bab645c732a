/** The cluster's DNS service of tenants on one node: a pod of the default network answers what it is told to. */
import { join } from 'node:path';
import type { Endpoint } from '../../../src/lab/connectivity.ts';
import { runInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import type { DnsZone } from '../run/dns-server.ts';
import type { HostTenants } from './host-tenants.ts';
import { DNS, systemServices } from './matrix-tenants.ts';

/** Of a virtual machine, which has files of its own; of a lab on this one by its name. */
const fileOf = ({ name }: LabRecord): string => `/tmp/dns-${name}.json`;

const PORTS = (['UDP', 'TCP'] as const).map((protocol) => ({
  name: protocol.toLowerCase(),
  protocol,
  port: 53,
}));
const labels = {
  'kubernetes.io/service-name': 'kube-dns',
  'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
};

/** The cluster's DNS service at its own port. */
const dnsObjects = ({ node, addresses }: Endpoint): readonly object[] => [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'kube-system', name: 'kube-dns' },
    spec: { clusterIP: DNS.ips[0], clusterIPs: DNS.ips, ports: PORTS },
  },
  ...(['IPv4', 'IPv6'] as const).map((addressType, family) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'kube-system', name: `dns-${addressType.toLowerCase()}`, labels },
    addressType,
    ports: PORTS,
    endpoints: [
      {
        addresses: addresses.slice(family, family + 1),
        nodeName: node,
        conditions: { ready: true },
      },
    ],
  })),
];

/** What names stand for from now on. */
export async function sayNames(lab: LabRecord, zone: DnsZone): Promise<void> {
  await runInside(lab, ['tee', fileOf(lab)], { input: JSON.stringify(zone) });
}

/** Has the pod of DNS answer for as long as the lab is there, and the service lead to it by its own port. Returns the pod. */
export function startClusterDns(lab: LabRecord, tenants: HostTenants): Endpoint {
  const dns = tenants.onDefault.get(DNS.pod);
  if (dns === undefined) throw new Error(`${DNS.pod} has no address`);
  for (const address of dns.addresses)
    void runInside(lab, [
      'ip',
      'netns',
      'exec',
      dns.namespace,
      join(lab.checkout, 'node_modules/.bin/node'),
      join(lab.checkout, 'test/support/lab/dns-program.ts'),
      address,
      fileOf(lab),
      // Ends with the lab.
    ]).catch(() => undefined);
  const isOfDns = (one: object): boolean => JSON.stringify(one).includes('kube-dns');
  const others = systemServices(dns).filter((one) => !isOfDns(one));
  tenants.write('services.yaml', [...others, ...dnsObjects(dns)]);
  return dns;
}
