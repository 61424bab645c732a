/** Nodes as their agents would describe them, for who has manifests of networks and pods alone. Pure. */
import { familyOf } from '../allocators/addresses.ts';
import type { Node, Pod } from '../api/types.ts';

export interface InventionSources {
  readonly nodes: readonly Node[];
  readonly pods: readonly Pod[];
  /** A node that somebody asks for. */
  readonly named: string | undefined;
  /** So many nodes there are at least. */
  readonly count: number;
  /** Of the cluster: nodes have addresses of the same families. */
  readonly subnets: readonly string[];
  readonly mode: 'shared' | 'local' | 'disabled';
}

/** For benchmarks and for documentation (RFC 2544, RFC 3849): nobody has them. */
const ADDRESSES = {
  v4: {
    of: (at: number) => `198.18.${Math.floor(at / 256)}.${at % 256}`,
    length: 15,
    nextHop: '198.19.255.254',
  },
  v6: { of: (at: number) => `2001:db8::${at.toString(16)}`, length: 64, nextHop: '2001:db8::fffe' },
} as const;

const NATURAL = new Intl.Collator('en', { numeric: true });

/** The named node, those that there are or that pods name, and others up to `count`, in this order, with what they lack. */
export function inventedNodes({
  nodes,
  pods,
  named,
  count,
  subnets,
  mode,
}: InventionSources): readonly Node[] {
  const known = new Map(nodes.map((node) => [node.metadata.name, node]));
  const real = new Set([...known.keys(), ...pods.flatMap(({ spec }) => spec.nodeName ?? [])]);
  const names = new Set([
    ...(named === undefined ? [] : [named]),
    ...[...real].toSorted(NATURAL.compare),
  ]);
  for (let at = 1; names.size < count; at += 1) names.add(`node${at}`);
  const families = (['v4', 'v6'] as const).filter((family) =>
    subnets.some((cidr) => familyOf(cidr) === family),
  );
  return [...names].map((name, index) => {
    const node = known.get(name);
    const annotations = {
      ...invented(name, index + 1, families, mode),
      ...node?.metadata.annotations,
    };
    return { apiVersion: 'v1', kind: 'Node', metadata: { name, annotations } };
  });
}

function invented(
  name: string,
  at: number,
  families: readonly ('v4' | 'v6')[],
  mode: InventionSources['mode'],
): Record<string, string> {
  const number = at.toString(16).padStart(12, '0');
  const hosts = families.map((family) => ADDRESSES[family].of(at));
  const cidrs = families.map((family) => `${ADDRESSES[family].of(at)}/${ADDRESSES[family].length}`);
  const primary = Object.fromEntries(
    families.map((family, index) => [family === 'v4' ? 'ipv4' : 'ipv6', cidrs[index]]),
  );
  const gateway =
    mode === 'disabled'
      ? { mode: '' }
      : {
          mode,
          'bridge-id': 'br-ex',
          'interface-id': `br-ex_${name}`,
          'mac-address': `02:${number.slice(2).replaceAll(/(..)(?!$)/g, '$1:')}`,
          'ip-addresses': cidrs,
          'next-hops': families.map((family) => ADDRESSES[family].nextHop),
          'node-port-enable': 'true',
          'vlan-id': '0',
        };
  return {
    'k8s.ovn.org/node-chassis-id': `00000000-0000-4000-8000-${number}`,
    'k8s.ovn.org/node-encap-ips': JSON.stringify(hosts.slice(0, 1)),
    'k8s.ovn.org/node-primary-ifaddr': JSON.stringify(primary),
    'k8s.ovn.org/host-cidrs': JSON.stringify(cidrs),
    'k8s.ovn.org/l3-gateway-config': JSON.stringify({ default: gateway }),
  };
}
