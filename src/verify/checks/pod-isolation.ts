/** Pods of primary networks are kept from processes of the host, but for the ports that they open. */
import { openDefaultPorts } from '../../api/annotations/pod-annotations.ts';
import { objectKey } from '../../api/objects.ts';
import type { Findings } from '../findings.ts';
import type { Intent } from '../intent/intent.ts';
import { contains as mentions, elementsOf, type NftTable } from '../nft-table.ts';
import type { Snapshot } from '../snapshot.ts';

/** Processes of the host reach pods of primary networks by opened ports alone. */
export function checkIsolation(
  snapshot: Snapshot,
  own: NftTable,
  intent: Intent,
  findings: Findings,
): void {
  const chain = own.rules.filter(({ chain: name }) => name === 'udn-isolation');
  const opened = new Map<string, Set<string>>();
  for (const pod of snapshot.objects.pods) {
    const ports = openDefaultPorts(pod).value ?? [];
    opened.set(
      objectKey(pod.metadata),
      new Set(ports.map(({ protocol, port }) => `${protocol} ${port ?? ''}`)),
    );
  }
  for (const family of ['v4', 'v6'] as const) {
    const set = own.sets.get(`udn-pod-default-ips-${family}`);
    const locked = [...intent.ports.values()].filter(
      ({ role, node }) => role === 'infrastructure-locked' && node === intent.node,
    );
    const addresses = locked.flatMap((port) =>
      port.addresses
        .filter((address) => address.includes(':') === (family === 'v6'))
        .map((address) => ({ address, port })),
    );
    if (addresses.length === 0) continue;
    const members = new Set(elementsOf(set).map(({ key }) => key.join(' ')));
    for (const { address, port } of addresses)
      if (!members.has(address))
        findings.wrong(
          'nftables',
          `set udn-pod-default-ips-${family}`,
          `lacks ${address} of Pod ${port.pod}: processes of the host reach it`,
          `Pod ${port.pod}`,
          ['default', ...networksOfPod(port.pod, intent)],
        );
    const isDropped = chain.some(
      ({ drops, expressions }) =>
        drops && mentions(expressions, (value) => value === `@udn-pod-default-ips-${family}`),
    );
    if (!isDropped)
      findings.wrong(
        'nftables',
        'chain udn-isolation',
        `does not drop what the host sends to pods of primary networks (${family})`,
        'cluster',
        ['default'],
      );
    checkOpened(own, family, opened, intent, findings);
  }
}

const networksOfPod = (pod: string, intent: Intent): string[] =>
  intent
    .portsOfPod(pod)
    .filter(({ role }) => role === 'primary')
    .map(({ network }) => network);

function checkOpened(
  own: NftTable,
  family: string,
  opened: ReadonlyMap<string, ReadonlySet<string>>,
  intent: Intent,
  findings: Findings,
): void {
  const byAddress = new Map(
    [...intent.ports.values()]
      .filter(({ network }) => network === 'default')
      .flatMap(({ addresses, pod }) => addresses.map((address) => [address, pod] as const)),
  );
  for (const name of [`udn-open-ports-${family}`, `udn-open-ports-icmp-${family}`])
    for (const { key } of elementsOf(own.sets.get(name))) {
      const [address = '', protocol = 'icmp', port = ''] = key;
      const pod = byAddress.get(address);
      const wanted = `${protocol} ${port}`;
      if (pod !== undefined && opened.get(pod)?.has(wanted) === true) continue;
      findings.wrong(
        'nftables',
        `set ${name}`,
        `opens ${key.join(' ')}, which ${pod === undefined ? 'no pod has' : `Pod ${pod} does not open`}`,
        `Pod ${pod ?? address}`,
        ['default', ...(pod === undefined ? [] : networksOfPod(pod, intent))],
      );
    }
}
